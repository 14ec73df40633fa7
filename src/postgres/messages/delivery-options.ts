// The settings of a delivery that few messages and schedules use, as they stand in the jsonb column `options`.

import { depthOf, withDepth } from '../../domain/depth.js';
import type { MessageId } from '../../domain/ids.js';
import type { CallbackSpec, DeliveryPolicy } from '../../domain/message.js';

/** What `options` holds; a setting that is not there has its default. Callbacks are kept as they are in the domain. */
export interface DeliveryOptions {
  readonly retryDelay?: string;
  readonly callback?: CallbackSpec;
  readonly failureCallback?: CallbackSpec;
  readonly redact?: string;
  readonly callerIp?: string;
  readonly depth?: number;
  readonly sourceOf?: MessageId;
}

export type OptionalPolicy = Pick<
  DeliveryPolicy,
  'retryDelay' | 'callback' | 'failureCallback' | 'redact' | 'callerIp' | 'depth' | 'sourceOf'
>;

/** What to store: only what was set, always with its keys in the same order; an empty object when nothing was. */
export function toDeliveryOptions(policy: OptionalPolicy): DeliveryOptions {
  return {
    ...(policy.retryDelay === null ? {} : { retryDelay: policy.retryDelay }),
    ...(policy.callback === null ? {} : { callback: policy.callback }),
    ...(policy.failureCallback === null ? {} : { failureCallback: policy.failureCallback }),
    ...(policy.redact === null ? {} : { redact: policy.redact }),
    ...(policy.callerIp === null ? {} : { callerIp: policy.callerIp }),
    ...withDepth(depthOf(policy)),
    ...(policy.sourceOf === undefined ? {} : { sourceOf: policy.sourceOf }),
  };
}

/** The settings out of a stored `options` (null stands for none). */
export function fromDeliveryOptions(options: DeliveryOptions | null): OptionalPolicy {
  return {
    retryDelay: options?.retryDelay ?? null,
    callback: options?.callback ?? null,
    failureCallback: options?.failureCallback ?? null,
    redact: options?.redact ?? null,
    callerIp: options?.callerIp ?? null,
    ...withDepth(options?.depth ?? 0),
    ...(options?.sourceOf === undefined ? {} : { sourceOf: options.sourceOf }),
  };
}
