import { de } from './de.ts'
import { en, type MessageName } from './en.ts'
import { es } from './es.ts'
import { fr } from './fr.ts'
import { ja } from './ja.ts'
import { pt } from './pt.ts'

/** A name without its plural form. */
type Stem<N extends string> = N extends `${infer S}_one` | `${infer S}_other` ? S : N
type PluralName = { [N in MessageName]: N extends `${infer S}_other` ? S : never }[MessageName]
type PlainName = Exclude<Stem<MessageName>, PluralName>

/** The texts of one language. Every plural has `_other`, and the forms that `Intl.PluralRules` names for the language. */
export type Catalogue = Readonly<
  Record<PlainName | `${PluralName}_other`, string> &
    Partial<Record<`${PluralName}_${'zero' | 'one' | 'two' | 'few' | 'many'}`, string>>
>
/** Texts that a page replaces. */
export type Messages = Partial<Catalogue>

type Values = Readonly<Record<string, string | number>>

export interface Words {
  /** The language of the texts, for the `lang` attribute. */
  readonly language: string
  /** For English texts on a page in another language, which may be read from right to left. Else the page's counts. */
  readonly dir: 'ltr' | undefined
  text(name: PlainName, values?: Values): string
  /** The plural form for a count. */
  count(name: PluralName, count: number): string
  number(value: number): string
  /** A span in words: `24 hours`. */
  span(count: number, unit: 'second' | 'hour' | 'day'): string
  day(iso: string): string
  /** A day of the figures, such as `2026-11-23`. */
  utcDay(date: string): string
  /** With the time of day. */
  moment(iso: string | number): string
}

const catalogues: Readonly<Record<string, Catalogue>> = { en, de, fr, es, pt, ja }

/** @param locale a BCP 47 tag; anything else counts as English. */
export function wordsFor(locale: string, messages: unknown): Words {
  const wanted = isTag(locale) ? locale : 'en'
  const known = wanted.toLowerCase().split('-')[0] ?? ''
  const isKnown = Object.hasOwn(catalogues, known)
  const language = isKnown ? known : 'en'
  // English texts have English dates.
  const tag = isKnown || messages !== undefined ? wanted : 'en'
  const find = (name: string): string | undefined => own(messages, name) ?? own(catalogues[language], name)
  const plural = onceAsked(() => new Intl.PluralRules(tag))
  const number = onceAsked(() => new Intl.NumberFormat(tag))
  const date = (options: Intl.DateTimeFormatOptions) => {
    const format = onceAsked(() => new Intl.DateTimeFormat(tag, { dateStyle: 'medium', ...options }))
    return (at: string | number) => format().format(new Date(at))
  }
  const text = (name: string, values: Values = {}) =>
    (find(name) ?? '').replace(/\{(\w+)\}/g, (whole, slot) =>
      Object.hasOwn(values, slot) ? String(values[slot]) : whole,
    )
  return {
    language: tag,
    dir: tag === wanted ? undefined : 'ltr',
    text,
    count(name, count) {
      const form = `${name}_${plural().select(count)}`
      return text(find(form) === undefined ? `${name}_other` : form, { count: number().format(count) })
    },
    number: value => number().format(value),
    span: (count, unit) =>
      new Intl.NumberFormat(tag, { style: 'unit', unit, unitDisplay: 'long' }).format(count),
    day: date({}),
    utcDay: date({ timeZone: 'UTC' }),
    moment: date({ timeStyle: 'short' }),
  }
}

/** The first formatter of a page takes longer than all else until the keys are shown, and few texts need one. */
function onceAsked<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** A text of an object itself: never one of its prototype. */
function own(from: unknown, name: string): string | undefined {
  if (typeof from !== 'object' || from === null || !Object.hasOwn(from, name)) return
  const value = (from as Record<string, unknown>)[name]
  return typeof value === 'string' ? value : undefined
}

function isTag(locale: string): boolean {
  try {
    return Intl.getCanonicalLocales(locale).length === 1
  } catch {
    return false
  }
}
