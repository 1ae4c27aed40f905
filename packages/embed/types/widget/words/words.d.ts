import { type MessageName } from './en.js';
/** A name without its plural form. */
type Stem<N extends string> = N extends `${infer S}_one` | `${infer S}_other` ? S : N;
type PluralName = {
    [N in MessageName]: N extends `${infer S}_other` ? S : never;
}[MessageName];
type PlainName = Exclude<Stem<MessageName>, PluralName>;
/** The texts of one language. Every plural has `_other`, and the forms that `Intl.PluralRules` names for the language. */
export type Catalogue = Readonly<Record<PlainName | `${PluralName}_other`, string> & Partial<Record<`${PluralName}_${'zero' | 'one' | 'two' | 'few' | 'many'}`, string>>>;
/** Texts that a page replaces. */
export type Messages = Partial<Catalogue>;
type Values = Readonly<Record<string, string | number>>;
export interface Words {
    /** The language of the texts, for the `lang` attribute. */
    readonly language: string;
    /** For English texts on a page in another language, which may be read from right to left. Else the page's counts. */
    readonly dir: 'ltr' | undefined;
    text(name: PlainName, values?: Values): string;
    /** The plural form for a count. */
    count(name: PluralName, count: number): string;
    number(value: number): string;
    /** A span in words: `24 hours`. */
    span(count: number, unit: 'second' | 'hour' | 'day'): string;
    day(iso: string): string;
    /** A day of the figures, such as `2026-11-23`. */
    utcDay(date: string): string;
    /** With the time of day. */
    moment(iso: string | number): string;
}
/** @param locale a BCP 47 tag; anything else counts as English. */
export declare function wordsFor(locale: string, messages: unknown): Words;
export {};
