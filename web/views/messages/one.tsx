// One message: what it is, each attempt, what was sent and what came back; cancelling it while it waits.

import type { JSX } from 'preact';
import { useLoaded } from '../../api/loaded.js';
import { retryLetter } from '../../api/dead-letters.js';
import { cancelMessage, getRun } from '../../api/runs.js';
import type { RunDetail } from '../../api/answer-types.js';
import { ask } from '../../components/confirm.js';
import { Bytes, Headers } from '../../components/content.js';
import { FactList, type Fact } from '../../components/facts.js';
import { Icon } from '../../components/icons.js';
import { Fault, say } from '../../components/notices.js';
import { RunBadge } from '../../components/state.js';
import { Exactly, span } from '../../components/time.js';
import { go, href } from '../../route.js';

const REFRESH_MS = 3_000;

export function OneMessage({ id }: { id: string }): JSX.Element {
  const { value, problem: fault, reload } = useLoaded(id, (signal) => getRun(id, signal), { everyMs: REFRESH_MS });
  return (
    <>
      <nav class="crumbs" aria-label="Where this is">
        <a href={href(['messages'])}>Messages</a>
      </nav>
      <div class="title">
        <h1 class="mono">{id}</h1>
        {value !== undefined && <RunBadge state={value.state} />}
        {value !== undefined && <Actions run={value} reload={reload} />}
      </div>
      <Fault text={fault} />
      {value !== undefined && (
        <div class="two">
          <div class="stack">
            <Attempts run={value} />
            <Request run={value} />
          </div>
          <Facts run={value} />
        </div>
      )}
    </>
  );
}

function Actions({ run, reload }: { run: RunDetail; reload: () => void }): JSX.Element {
  const { messageId, dlqId } = run;
  const cancel = (): void =>
    ask({
      title: 'Cancel this message?',
      text: 'It is not sent any more. An attempt that is on its way may still arrive; if it succeeds the record says so.',
      verb: 'Cancel it',
      isDanger: true,
      act: async () => {
        await cancelMessage(messageId);
        say('The message is canceled');
        reload();
      },
    });
  const retry = (letter: string): void =>
    ask({
      title: 'Send it again?',
      text: `A new message with the same content and key goes to ${run.destination} at once, with all its retries. This one stays in the record and leaves the dead letters.`,
      verb: 'Send it again',
      act: async () => {
        const next = await retryLetter(letter);
        say('It is on its way again');
        go(['messages', next.messageId]);
      },
    });
  return (
    <div class="buttons">
      {run.state === 'pending' && (
        <button type="button" class="button grave" onClick={cancel}>
          Cancel
        </button>
      )}
      {dlqId !== undefined && (
        <button type="button" class="button chief" onClick={() => retry(dlqId)}>
          <Icon name="again" size={13} /> Send again
        </button>
      )}
    </div>
  );
}

/** Those that failed, then how it ended. */
function Attempts({ run }: { run: RunDetail }): JSX.Element {
  return (
    <section class="sheet" aria-labelledby="attempts">
      <header>
        <h2 id="attempts">Attempts</h2>
        <span class="quiet">
          {run.attempts} of at most {run.maxRetries + 1}
        </span>
      </header>
      <ol class="attempts">
        {run.failedAttempts.map((attempt) => (
          <li key={attempt.attempt} class="bad">
            <Icon name="no" size={14} />
            <div class="stack tight">
              <p>
                <strong>Attempt {attempt.attempt}</strong> {attempt.error ?? `answered ${attempt.status ?? 'nothing'}`}
              </p>
              <p class="quiet">
                <Exactly at={attempt.startedAt} />
                {attempt.node !== undefined && ` · by ${attempt.node}`}
                {` · took ${span(Date.parse(attempt.endedAt) - Date.parse(attempt.startedAt))}`}
              </p>
              {attempt.response !== undefined && (
                <details>
                  <summary>What was answered</summary>
                  <Headers headers={attempt.response.headers} />
                  <Bytes title="Body" text={attempt.response.body} base64={attempt.response.bodyBase64} />
                </details>
              )}
            </div>
          </li>
        ))}
        <End run={run} />
      </ol>
    </section>
  );
}

function End({ run }: { run: RunDetail }): JSX.Element | null {
  switch (run.state) {
    case 'delivered':
      return (
        <li class="good">
          <Icon name="yes" size={14} />
          <div class="stack tight">
            <p>
              <strong>Delivered</strong> {run.status !== undefined && `the destination answered ${run.status}`}
            </p>
            <p class="quiet">
              <Exactly at={run.endedAt} />
              {run.node !== undefined && ` · by ${run.node}`}
            </p>
          </div>
        </li>
      );
    case 'pending':
      return (
        <li class="wait">
          <Icon name="wait" size={14} />
          <p>
            <strong>Next attempt</strong> <Exactly at={run.nextAttemptAt ?? run.dueAt} />
          </p>
        </li>
      );
    case 'failed':
      return (
        <li class="bad">
          <Icon name="letters" size={14} />
          <p>
            <strong>Given up</strong> <Exactly at={run.endedAt} />
            {run.dlqId === undefined && <span class="quiet"> · no longer among the dead letters</span>}
          </p>
        </li>
      );
    case 'canceled':
    case 'skipped':
      return (
        <li class="off">
          <Icon name={run.state === 'skipped' ? 'skip' : 'stop'} size={14} />
          <p>
            <strong>{run.state === 'skipped' ? 'Left out' : 'Canceled'}</strong> {run.reason}{' '}
            <Exactly at={run.endedAt} />
          </p>
        </li>
      );
  }
}

function Request({ run }: { run: RunDetail }): JSX.Element {
  const { headers, body, bodyBase64 } = run.request;
  return (
    <section class="sheet" aria-labelledby="request">
      <header>
        <h2 id="request">What is sent</h2>
        {run.redact !== undefined && <span class="tag">redacted: {run.redact}</span>}
      </header>
      <div class="pad stack">
        <p>
          <code>
            {run.method} {run.destination}
          </code>
        </p>
        <Headers headers={headers} />
        <Bytes title="Body" text={body} base64={bodyBase64} />
        {body === undefined && bodyBase64 === undefined && <p class="quiet">No body.</p>}
        {run.response !== undefined && (
          <>
            <h2>What was answered</h2>
            <Headers headers={run.response.headers} />
            <Bytes title="Body, its beginning" text={run.response.body} base64={run.response.bodyBase64} />
          </>
        )}
      </div>
    </section>
  );
}

function Facts({ run }: { run: RunDetail }): JSX.Element {
  const facts: readonly Fact[] = [
    ['Kind', run.kind],
    [
      'Schedule',
      run.scheduleId !== undefined && (
        <a href={href(['schedules', run.scheduleId], { at: run.occurrence ?? '' })}>{run.scheduleId}</a>
      ),
    ],
    ['Occurrence', run.occurrence !== undefined && <Exactly at={run.occurrence} />],
    ['Covers until', run.coversUntil !== undefined && <Exactly at={run.coversUntil} />],
    ['Due', <Exactly key="due" at={run.dueAt} />],
    ['Started', run.startedAt !== undefined && <Exactly at={run.startedAt} />],
    ['Late by', run.latenessMs !== undefined && span(run.latenessMs)],
    ['Ended', run.endedAt !== undefined && <Exactly at={run.endedAt} />],
    ['Accepted', <Exactly key="created" at={run.createdAt} />],
    ['Key', run.key !== undefined && <code>{run.key}</code>],
    ['Labels', (run.labels ?? []).join(', ') || false],
    ['Timeout', span(run.timeoutMs)],
    ['Callback', run.callback ?? false],
    ['On failure', run.failureCallback ?? false],
    [
      'Comes from',
      run.sourceMessageId !== undefined && <a href={href(['messages', run.sourceMessageId])}>{run.sourceMessageId}</a>,
    ],
  ];
  return (
    <section class="sheet" aria-labelledby="facts">
      <header>
        <h2 id="facts">Message</h2>
      </header>
      <div class="pad">
        <FactList facts={facts} />
      </div>
    </section>
  );
}
