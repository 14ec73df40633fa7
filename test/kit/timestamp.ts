/** A time as PostgreSQL reads it, for statements that tests write themselves. */
export function timestamp(timeMs: number | null): string | null {
  return timeMs === null ? null : new Date(Math.ceil(timeMs)).toISOString();
}
