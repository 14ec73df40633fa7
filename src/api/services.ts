// What the API needs from the rest of a node; compose makes it, tests make their own.

import type { Logger } from 'pino';
import type { Config } from '../config.js';
import type { Chance, Clock } from '../domain/clock.js';
import type { Intake } from '../intake/intake.js';
import type { Database } from '../table/database.js';

export interface Readiness {
  readonly ok: boolean;
  /** One sentence for people; when not ok. */
  readonly why?: string;
}

export interface ApiServices {
  readonly config: Config;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly database: Database;
  readonly intake: Intake;
  readonly logger: Logger;
  /** Whether this node should be given requests: red before it drains, and while a store is away. */
  readonly health: { ready(): Readiness };
}
