/**
 * What a migration of this release must not do, because the previous release goes on working on the same tables meanwhile.
 * Reads SQL by its words, as people write it here; it is no parser.
 */

/** Tables with a handful of rows: a change of them takes no time. */
const smallTables = [
  'service_secrets',
  'signing_keys',
  'store_timelines',
  'store_levels',
  'keyrail_migrations',
]

/** Bodies of functions, comments and texts say nothing about locks. */
const bare = (text: string): string =>
  text
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''")
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .replaceAll(/\s+/g, ' ')
    .toLowerCase()

const statementsOf = (text: string): string[] =>
  bare(text)
    .split(';')
    .map(statement => statement.trim())
    .filter(statement => statement !== '')

/** What may run outside a transaction: each can be repeated after an interruption, and stops no write. */
const outside = [
  /^create (unique )?index concurrently if not exists \w+ on /,
  /^drop index concurrently if exists \w+$/,
  /^alter table \w+ validate constraint \w+$/,
]

interface Rule {
  readonly fault: RegExp
  readonly advice: string
}

/** For every statement. */
const onAny: readonly Rule[] = [
  { fault: /^do\b/, advice: 'plain statements: what a block does is not read here' },
  { fault: /^lock\b/, advice: 'no explicit lock: each statement takes the one that it needs, briefly' },
  { fault: /^(vacuum full|cluster|reindex|refresh)\b/, advice: 'nothing that stops writes of a whole table' },
]

/** For statements on a table that grows and was there before. */
const onGrowing: readonly Rule[] = [
  {
    fault: /^create (unique )?index /,
    advice: 'create index concurrently if not exists, outside a transaction',
  },
  {
    fault: /\badd constraint \w+ (check|foreign key)\b(?!.*\bnot valid$)/,
    advice: 'not valid, and validate constraint in a next migration, outside a transaction',
  },
  {
    fault: /\badd constraint \w+ (unique|primary key|exclude)\b(?! using index)/,
    advice: 'a unique index, built concurrently, then add constraint … using index',
  },
  {
    fault: /\badd column [^,]*\b(generated|unique|primary key|references|check)\b/,
    advice: 'a plain column; its constraint apart, not valid; no generated column, which rewrites the table',
  },
  {
    fault:
      /\badd column [^,]*\bdefault [^,]*(now|clock_timestamp|service_now|gen_random_uuid|random|nextval)\(/,
    advice: 'a default that is the same for every row; another one rewrites the table',
  },
  {
    fault: /\badd column (?![^,]*\bdefault\b)[^,]*\bnot null\b/,
    advice: 'a default: the previous release names no such column',
  },
  {
    fault: /\balter column \w+ (set data )?type\b/,
    advice: 'a new column beside the old one: this rewrites the table',
  },
  {
    fault: /\balter column \w+ set not null\b/,
    advice: 'a constraint check (… is not null) not valid, validated later',
  },
  { fault: /\bvalidate constraint\b/, advice: 'outside a transaction: it reads the whole table' },
  {
    fault: /^(update|delete from|with|truncate|merge into) /,
    advice: 'a chore in batches, or code that takes both forms',
  },
  {
    fault: /\bset (un)?logged\b|\bset tablespace\b|\bset access method\b/,
    advice: 'nothing that rewrites the table',
  },
]

/** For statements that take away what the previous release may use. */
const contracting = /^drop (?!index)|\bdrop (column|constraint)\b|\brename\b/

const tableOf = (statement: string): string | undefined =>
  /^(?:alter table (?:if exists )?(?:only )?|update (?:only )?|delete from (?:only )?|merge into (?:only )?|create (?:unique )?index .*? on (?:only )?)"?(?:public\.)?(\w+)/.exec(
    statement,
  )?.[1]

/** @returns a sentence for each fault of a migration; none if it may be released. */
export function faultsOf(text: string): string[] {
  const [, kind, isOutside] = /^-- (expand|contract)(, outside a transaction)?\n/.exec(text) ?? []
  if (kind === undefined)
    return ['The first line is not "-- expand" or "-- contract", with ", outside a transaction" if so.']
  const statements = statementsOf(text)
  if (isOutside !== undefined)
    return statements
      .filter(statement => !outside.some(form => form.test(statement)))
      .map(statement => `Not for outside a transaction: ${statement}`)
  const own = statements.flatMap(statement => /^create table (\w+)/.exec(statement)?.[1] ?? [])
  const quiet = new Set([...smallTables, ...own])
  return statements.flatMap(statement => [
    ...(kind === 'expand' && contracting.test(statement)
      ? [`Only a migration that contracts may: ${statement}`]
      : []),
    ...adviceOf(onAny, statement),
    ...(quiet.has(tableOf(statement) ?? '') ? [] : adviceOf(onGrowing, statement)),
  ])
}

const adviceOf = (rules: readonly Rule[], statement: string): string[] =>
  rules.filter(({ fault }) => fault.test(statement)).map(({ advice }) => `Use ${advice}: ${statement}`)
