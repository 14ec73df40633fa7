// Checks the destination of a request: a URL, a known form that is not supported yet, or a mistake.

import type { Config } from '../config.js';
import { CarillonError } from '../domain/errors.js';
import { checkDestinationUrl } from '../delivery/destination-guard.js';
import { isWellFormed } from './header-text.js';

const INVALID_SCHEME = 'endpoint has invalid scheme, add http:// or https://';
const GROUP_NAME = /^[A-Za-z0-9_.-]{1,256}$/;

/**
 * Returns the destination verbatim. Throws INVALID_DESTINATION for any other text, NOT_IMPLEMENTED for URL groups and
 * `api/…`. Does not resolve names: that happens at delivery.
 */
export function checkDestination(text: string, config: Config): string {
  if (text === '')
    throw new CarillonError(
      'INVALID_DESTINATION',
      'invalid destination url: it is empty, expected http:// or https://',
    );
  if (/^api\/[a-z0-9-]+\/?$/i.test(text)) {
    throw new CarillonError(
      'NOT_IMPLEMENTED',
      `the destination ${JSON.stringify(text)} is not implemented: publish to the provider's own URL instead`,
    );
  }
  if (GROUP_NAME.test(text)) {
    throw new CarillonError(
      'NOT_IMPLEMENTED',
      `URL groups are not implemented yet, and ${JSON.stringify(text)} can only be the name of one; if it is meant as a URL: ${INVALID_SCHEME}`,
    );
  }
  return checkUrl(text, 'destination', config);
}

/**
 * Returns a URL verbatim after checking that it may be called; `what` names it in the error text. Throws
 * INVALID_DESTINATION.
 */
export function checkUrl(text: string, what: string, config: Config): string {
  if (!isWellFormed(text)) {
    throw new CarillonError(
      'INVALID_DESTINATION',
      `invalid ${what} url: it has a lone surrogate, which no URL can carry`,
    );
  }
  return checkDestinationUrl(text, what, {
    maxLength: config.CARILLON_URL_MAX_BYTES,
    allowPrivate: config.CARILLON_ALLOW_PRIVATE_DESTINATIONS,
  });
}
