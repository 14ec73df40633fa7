// Accepts the names of time zones in the IANA database from users, and proposes one for any other text.
//
// Intl also accepts the three-letter ids that ICU inherited from Java, whose meaning is not the common one: BST is
// Dhaka there.
import { CarillonError } from '../errors.js';
import { nearestWithin } from '../nearest-name.js';
import { IANA_NAMES } from './iana-names.js';

const MAX_SHOWN = 64;
const MAX_HOURS_AHEAD = 14;
const MAX_HOURS_BEHIND = 12;

/** Common abbreviations, in capital letters, and the zones that they may mean. */
const USUAL_NAMES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    'America/Los_Angeles': 'PST PDT PT PACIFIC_STANDARD_TIME PACIFIC_TIME',
    'America/Denver': 'MDT MT MOUNTAIN_STANDARD_TIME MOUNTAIN_TIME',
    'America/Phoenix': 'PNT',
    'America/Chicago': 'CST CDT CT CENTRAL_STANDARD_TIME CENTRAL_TIME',
    'America/New_York': 'EDT ET EASTERN_STANDARD_TIME EASTERN_TIME',
    'America/Indiana/Indianapolis': 'IET',
    'America/Anchorage': 'AKST AKDT YST YDT',
    'America/Halifax': 'AST ADT ATLANTIC_STANDARD_TIME',
    'America/Puerto_Rico': 'PRT',
    'America/St_Johns': 'NDT CNT NEWFOUNDLAND_STANDARD_TIME',
    'America/Sao_Paulo': 'BRT BET',
    'America/Argentina/Buenos_Aires': 'ART AGT',
    'America/Santiago': 'CLT CLST',
    'America/Bogota': 'COT',
    'America/Lima': 'PET',
    'Pacific/Honolulu': 'HDT HAWAIIAN_STANDARD_TIME',
    'Pacific/Pago_Pago': 'SST',
    'Pacific/Apia': 'MIT',
    'Pacific/Auckland': 'NZST NZDT NST NEW_ZEALAND_STANDARD_TIME',
    'Europe/London': 'BST GMT_STANDARD_TIME',
    'Europe/Lisbon': 'WEST',
    'Europe/Paris': 'ROMANCE_STANDARD_TIME ECT',
    'Europe/Berlin': 'CEST W._EUROPE_STANDARD_TIME CENTRAL_EUROPEAN_TIME',
    'Europe/Budapest': 'CENTRAL_EUROPE_STANDARD_TIME',
    'Europe/Warsaw': 'CENTRAL_EUROPEAN_STANDARD_TIME',
    'Europe/Kyiv': 'EEST FLE_STANDARD_TIME',
    'Europe/Istanbul': 'TRT TURKEY_STANDARD_TIME',
    'Europe/Moscow': 'MSK RUSSIAN_STANDARD_TIME',
    'Asia/Kolkata': 'IST INDIA_STANDARD_TIME',
    'Europe/Dublin': 'IST',
    'Asia/Jerusalem': 'IST IDT ISRAEL_STANDARD_TIME',
    'Asia/Shanghai': 'CST CTT CHINA_STANDARD_TIME',
    'Asia/Tokyo': 'JST TOKYO_STANDARD_TIME',
    'Asia/Seoul': 'KST KOREA_STANDARD_TIME',
    'Asia/Singapore': 'SGT SINGAPORE_STANDARD_TIME',
    'Asia/Hong_Kong': 'HKT',
    'Asia/Manila': 'PHT',
    'Asia/Jakarta': 'WIB',
    'Asia/Bangkok': 'ICT',
    'Asia/Ho_Chi_Minh': 'VST',
    'Asia/Karachi': 'PKT PLT',
    'Asia/Dubai': 'GST ARABIAN_STANDARD_TIME',
    'Asia/Yerevan': 'NET',
    'Africa/Johannesburg': 'SAST',
    'Africa/Lagos': 'WAT',
    'Africa/Maputo': 'CAT',
    'Africa/Nairobi': 'EAT',
    'Australia/Sydney': 'AEST AEDT AET AUS_EASTERN_STANDARD_TIME',
    'Australia/Adelaide': 'ACST ACDT',
    'Australia/Darwin': 'ACT AUS_CENTRAL_STANDARD_TIME',
    'Australia/Perth': 'AWST',
    UTC: 'Z',
  }).reduce((names, [zone, usual]) => {
    for (const name of usual.split(' ')) names.set(name, [...(names.get(name) ?? []), zone]);
    return names;
  }, new Map<string, string[]>()),
);

/** Zones of the offsets that are no whole hours and have no daylight saving time. */
const PLACES: ReadonlyMap<string, string> = new Map([
  ['+03:30', 'Asia/Tehran'],
  ['+04:30', 'Asia/Kabul'],
  ['+05:30', 'Asia/Kolkata'],
  ['+05:45', 'Asia/Kathmandu'],
  ['+06:30', 'Asia/Yangon'],
  ['+08:45', 'Australia/Eucla'],
  ['+09:30', 'Australia/Darwin'],
  ['-09:30', 'Pacific/Marquesas'],
]);

/**
 * Returns the names by their lower-case spelling. A newer Intl may know zones that are missing in our list; those have
 * an area prefix.
 */
const byLowerCase: ReadonlyMap<string, string> = namesByLowerCase();

function namesByLowerCase(): Map<string, string> {
  const areas = new Set(IANA_NAMES.filter((name) => name.includes('/')).map((name) => name.split('/')[0]));
  const younger = Intl.supportedValuesOf('timeZone').filter(
    (name) => name.includes('/') && areas.has(name.split('/')[0]),
  );
  return new Map([...younger, ...IANA_NAMES].map((name) => [name.toLowerCase(), name]));
}

/**
 * Returns the IANA name of a user's text, in the spelling of the database; case does not matter.
 *
 * @throws CarillonError INVALID_CRON for any other text, with the probable meaning.
 */
export function ianaName(text: string): string {
  const name = byLowerCase.get(text.toLowerCase());
  if (name !== undefined) return name;
  throw unknownZone(text);
}

/** Returns the error that refuses a name. */
export function unknownZone(text: string): CarillonError {
  const meant = text.length <= MAX_SHOWN ? likelyMeaning(text) : '';
  return new CarillonError(
    'INVALID_CRON',
    `unknown time zone ${JSON.stringify(text.slice(0, MAX_SHOWN))}: expected an IANA name such as America/New_York or UTC${meant}`,
  );
}

/** Returns the text after the refusal: a question, or '' when no name is near. */
function likelyMeaning(text: string): string {
  if (byLowerCase.has(text.toLowerCase())) return '; the time zone data of this Node.js is older than that name';
  const bare = text
    .trim()
    .replace(/^["':]+|["']+$/g, '')
    .replace(/^(?:posix|right)\//i, '')
    .replace(/\s+/g, '_');
  return (
    offsetMeaning(bare) ??
    question(zoneOf(bare) ?? USUAL_NAMES.get(bare.toUpperCase()) ?? posixMeaning(bare) ?? near(bare))
  );
}

function question(zones: readonly string[]): string {
  if (zones.length === 0) return '';
  const [last, ...others] = [...zones].reverse();
  return `; did you mean ${others.length === 0 ? '' : `${others.reverse().join(', ')} or `}${last ?? ''}?`;
}

/** Recognizes `+02:00`, `GMT+2`, `UTC+5:30`; also Etc names whose hours do not exist. */
function offsetMeaning(text: string): string | null {
  const match = /^(?:Etc\/)?(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?$/i.exec(text);
  if (match === null) return null;
  const [, sign = '+', hoursText = '', minutesText = '00'] = match;
  const hours = Number(hoursText);
  const isAhead = sign === '+';
  if (hours === 0 && minutesText === '00') return '; did you mean UTC?';
  if (minutesText !== '00' || hours > (isAhead ? MAX_HOURS_AHEAD : MAX_HOURS_BEHIND)) {
    const place = PLACES.get(`${sign}${hoursText.padStart(2, '0')}:${minutesText}`);
    return `; no zone is named by such an offset: name a place${place === undefined ? '' : `, such as ${place}`}`;
  }
  return `; did you mean ${etcName(isAhead ? hours : -hours)}`;
}

function etcName(hoursAhead: number): string {
  const hours = Math.abs(hoursAhead);
  const where = `${hours} hour${hours === 1 ? '' : 's'} ${hoursAhead > 0 ? 'ahead of' : 'behind'} UTC`;
  return `Etc/GMT${hoursAhead > 0 ? '-' : '+'}${hours}? the sign of these names is inverted: it is ${where}`;
}

const zoneOf = (text: string): readonly string[] | null => {
  const name = byLowerCase.get(text.toLowerCase());
  return name === undefined ? null : [name];
};

/** Recognizes `EST5EDT,M3.2.0,M11.1.0` of POSIX, and the old `SystemV/PST8`. */
function posixMeaning(text: string): readonly string[] | null {
  const [, standard = '', hours = '', summer] =
    /^(?:SystemV\/)?([a-z]{3,4})(\d{1,2})([a-z]{3,4})?(?:,.*)?$/i.exec(text) ?? [];
  if (standard === '') return null;
  if (summer === undefined) return zoneOf(`Etc/GMT+${hours}`);
  return zoneOf(standard + hours + summer) ?? USUAL_NAMES.get(standard.toUpperCase()) ?? null;
}

/** Returns the zone of a city, or the name with the fewest typing errors. */
function near(text: string): readonly string[] {
  const wanted = text.toLowerCase();
  if (wanted === '') return [];
  for (const [lowerCase, name] of byLowerCase) if (lowerCase.endsWith(`/${wanted}`)) return [name];
  const found = nearestWithin(wanted, [...byLowerCase.keys()], Math.ceil(wanted.length / 4));
  return found === null ? [] : (zoneOf(found) ?? []);
}
