/**
 * The rule for names that a person or a program gives: of keys, projects, tenants, workspaces and people, and the text of a
 * logo. The service, the forms of the dashboard and the command line read it here.
 *
 * Names that were stored before the rule stay as they are: answers have them, and a rotation copies them.
 */

/**
 * Controls, ends of lines and paragraphs, noncharacters, and what turns, embeds or isolates the direction of a text.
 * The marks of direction (U+200E, U+200F, U+061C) are none of these: right-to-left names need them beside Latin letters, and
 * they reverse no letters.
 */
const refused = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}\u202a-\u202e\u2066-\u2069]/u

/** The last four are letters or symbols to Unicode and blank in every font: a braille cell, a note head, two hieroglyphs. */
const visible =
  /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Cs}\p{M}\p{Noncharacter_Code_Point}\u2800\u{1d159}\u{13441}\u{13442}]/u

const direction = /[\u202a-\u202e\u2066-\u2069]/u

/**
 * What is wrong with a name, but for its length: a predicate such as `must have at least one visible character`. Null: nothing.
 * Takes time in proportion to the length of the text.
 */
export function nameFault(name: string): string | null {
  const [found] = refused.exec(name) ?? []
  if (found === undefined) return visible.test(name) ? null : 'must have at least one visible character'
  const point = found.codePointAt(0) ?? 0
  const character = `U+${point.toString(16).toUpperCase().padStart(4, '0')}`
  return direction.test(found)
    ? `must not have ${character}, which changes the direction of text`
    : `must not have the unprintable character ${character}`
}
