// Metrics of the process itself, under the names that dashboards for Node.js expect.
//
// prom-client's own collection cannot be stopped: each node that was started and stopped would leave its observers
// behind.

import { readdirSync, readFileSync } from 'node:fs';
import { constants, monitorEventLoopDelay, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { Counter, type Registry } from 'prom-client';
import { SeriesMaker } from './series.js';

/** Sampling interval of the event loop: an idle one shows this much. */
const RESOLUTION_MS = 10;
const GC_BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1];
const GC_KINDS = { kind: ['minor', 'major', 'incremental', 'weakcb'] } as const;
/** Members that the types of Node.js do not have. */
type Collection = PerformanceEntry & { readonly detail?: { readonly kind?: number } };
const GC_KIND_OF: ReadonlyMap<unknown, (typeof GC_KINDS.kind)[number]> = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
]);

export class ProcessMetrics {
  readonly #delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  readonly #collections: PerformanceObserver;

  constructor(registry: Registry) {
    const series = new SeriesMaker(registry);
    cpuTime(registry);
    memory(series);
    files(series);
    this.#eventLoop(series);
    const observe = series.histograms(
      { name: 'nodejs_gc_duration_seconds', help: 'Garbage collection pauses by kind' },
      { label: 'kind', values: GC_KINDS.kind },
      GC_BUCKETS,
    );
    this.#collections = new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as Collection[]) {
        const kind = GC_KIND_OF.get(entry.detail?.kind);
        if (kind !== undefined) observe[kind](entry.duration / 1_000);
      }
    });
    this.#collections.observe({ entryTypes: ['gc'] });
    this.#delay.enable();
  }

  /** Stops observing; the metrics keep their values. */
  stop(): void {
    this.#delay.disable();
    this.#collections.disconnect();
  }

  /** Since the last scrape; the mean is read last and resets them. */
  #eventLoop(series: SeriesMaker): void {
    const delay = this.#delay;
    const inSeconds = (nanoseconds: number): number => (Number.isFinite(nanoseconds) ? nanoseconds / 1e9 : 0);
    const about = `delay of the event loop since the last scrape; about ${RESOLUTION_MS / 1_000} when idle`;
    const named = (name: string, what: string) => ({
      name: `nodejs_eventloop_lag_${name}_seconds`,
      help: `${what} ${about}`,
    });
    series.gauge(named('max', 'Longest'), () => inSeconds(delay.max));
    series.gauge(named('p50', 'Median'), () => inSeconds(delay.percentile(50)));
    series.gauge(named('p90', '90th percentile of the'), () => inSeconds(delay.percentile(90)));
    series.gauge(named('p99', '99th percentile of the'), () => inSeconds(delay.percentile(99)));
    series.gauge(named('mean', 'Mean'), () => {
      const mean = inSeconds(delay.mean);
      delay.reset();
      return mean;
    });
  }
}

function cpuTime(registry: Registry): void {
  let countedMicroseconds = 0;
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time of the process',
    registers: [registry],
    collect() {
      const { user, system } = process.cpuUsage();
      this.inc((user + system - countedMicroseconds) / 1e6);
      countedMicroseconds = user + system;
    },
  });
}

function memory(series: SeriesMaker): void {
  series.gauge({ name: 'process_start_time_seconds', help: 'When the process started, since the epoch' }, () =>
    Math.round(performance.timeOrigin / 1_000),
  );
  const used = (name: string, help: string, part: keyof NodeJS.MemoryUsage): void =>
    series.gauge({ name, help }, () => process.memoryUsage()[part]);
  used('process_resident_memory_bytes', 'Resident memory of the process', 'rss');
  used('nodejs_heap_size_total_bytes', 'Size of the heap', 'heapTotal');
  used('nodejs_heap_size_used_bytes', 'Used part of the heap', 'heapUsed');
  used('nodejs_external_memory_bytes', 'Memory of buffers and other objects outside the heap', 'external');
  const version = process.version;
  series.gauges(
    { name: 'nodejs_version_info', help: 'Version of Node.js' },
    { label: 'version', values: [version] },
    () => 1,
  );
}

/** Only where /proc exists. */
function files(series: SeriesMaker): void {
  try {
    const most = Number(/^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]);
    if (!Number.isFinite(most)) return;
    series.gauge({ name: 'process_max_fds', help: 'Most files and sockets the process may have open' }, () => most);
    series.gauge(
      { name: 'process_open_fds', help: 'Files and sockets the process has open' },
      () => readdirSync('/proc/self/fd').length,
    );
  } catch {
    // No /proc here.
  }
}
