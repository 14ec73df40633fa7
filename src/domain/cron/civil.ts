// Calendar arithmetic of the proleptic Gregorian calendar on day numbers (0 = 1970-01-01), without Date objects.

export const SECONDS_PER_DAY = 86_400;

const DAYS_PER_ERA = 146_097; // 400 years
/** Days from 0000-03-01 to 1970-01-01. Years that start in March put the leap day last. */
const DAYS_TO_EPOCH = 719_468;
const CUMULATIVE_FACTOR = 153; // five months from March on have 153 days

/**
 * Returns year, month (1-12) and day (1-31) in one number, so that the hot path allocates nothing: see yearOf, monthOf,
 * dayOf.
 */
export function civilFromDay(dayNumber: number): number {
  const shifted = dayNumber + DAYS_TO_EPOCH;
  const era = Math.floor(shifted / DAYS_PER_ERA);
  const dayOfEra = shifted - era * DAYS_PER_ERA;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / (DAYS_PER_ERA - 1))) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / CUMULATIVE_FACTOR);
  const day = dayOfYear - Math.floor((CUMULATIVE_FACTOR * monthFromMarch + 2) / 5) + 1;
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  const year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0);
  return year * 512 + month * 32 + day;
}

export const yearOf = (civil: number): number => Math.floor(civil / 512);
export const monthOf = (civil: number): number => (civil >> 5) & 15;
export const dayOf = (civil: number): number => civil & 31;

/** Returns the weekday: 0 = Sunday … 6 = Saturday. */
export function weekdayOf(dayNumber: number): number {
  const weekday = (dayNumber + 4) % 7; // 1970-01-01 was a Thursday
  return weekday < 0 ? weekday + 7 : weekday;
}

function isLeapYear(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

export function daysInMonth(year: number, month: number): number {
  if (month === 2) return isLeapYear(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
