// Turns the named parameters of a statement (`:tenantId`) into PostgreSQL's numbered ones.

export interface NamedParameter {
  readonly name: string;
  /** What a cast says where it stands, such as `uuid[]`; null where none does. */
  readonly type: string | null;
}

export interface NumberedStatement {
  readonly text: string;
  /** In the order of their numbers: the first is $1. */
  readonly parameters: readonly NamedParameter[];
}

/** What a colon or a dollar sign may stand in without beginning a parameter, and the parameters. */
const TOKEN = new RegExp(
  [
    '--[^\\n]*',
    '/\\*',
    // A string with backslashes, a string, a quoted name: within each a doubled quote stands for one.
    "\\b[eE]'(?:[^'\\\\]|\\\\[^]|'')*'",
    "'(?:[^']|'')*'",
    '"(?:[^"]|"")*"',
    '(?<![\\w$])(?<tag>\\$(?:[A-Za-z_]\\w*)?\\$)[^]*?\\k<tag>',
    '::',
    '(?<![\\w$])\\$(?<position>\\d+)',
    '(?<![\\w)\\]]):(?<name>[a-z]\\w*)(?:::(?<type>[a-z]\\w*(?:\\[\\])?))?',
  ].join('|'),
  'g',
);
const COMMENT_EDGE = /\/\*|\*\//g;

/** Throws for a parameter that has no name. */
export function parseNamed(source: string): NumberedStatement {
  const types = new Map<string, string | null>();
  const token = new RegExp(TOKEN);
  let text = '';
  let done = 0;
  for (let found = token.exec(source); found !== null; found = token.exec(source)) {
    if (found[0] === '/*') token.lastIndex = endOfComment(source, found.index);
    const { position, name, type } = found.groups ?? {};
    if (position !== undefined) throw new Error(`a parameter has no name: $${position} in ${source}`);
    if (name === undefined) continue;
    types.set(name, types.get(name) ?? type ?? null);
    const number = [...types.keys()].indexOf(name) + 1;
    text += `${source.slice(done, found.index)}$${number}${type === undefined ? '' : `::${type}`}`;
    done = token.lastIndex;
  }
  return { text: text + source.slice(done), parameters: [...types].map(([name, type]) => ({ name, type })) };
}

/** Comments of this kind nest. */
function endOfComment(source: string, start: number): number {
  let depth = 0;
  for (const { 0: edge, index } of source.slice(start).matchAll(COMMENT_EDGE)) {
    depth += edge === '/*' ? 1 : -1;
    if (depth === 0) return start + index + 2;
  }
  return source.length;
}
