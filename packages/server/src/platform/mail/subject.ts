/**
 * Text that a mail program could turn into a link: a scheme, an IPv4 address, or a name with a dot before a part that could be
 * a top-level domain.
 */
const page = /:\/\/|\d{1,3}(?:\.\d{1,3}){3}|[\p{L}\p{N}-]\.(?:xn--[a-z\d-]{2,}|\p{L}[\p{L}\p{M}]+)/iu

/** Whether text that somebody else chose holds the address of a page, or something like it. */
const namesPage = (text: string): boolean =>
  // Invisible characters could divide a name for this code but not for its reader; other dots count as dots, as in host names.
  page.test(
    text
      .normalize('NFKC')
      .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
      .replaceAll('。', '.'),
  )

/**
 * A name that somebody else chose, for the subject or the text of a letter. A name with the address of a page is left out,
 * because a mail program would show a stranger's link in a letter of ours.
 * @param name null: the recipient's address is unverified.
 * @param instead the text in place of a name that is left out.
 */
export const nameInLetter = (name: string | null, instead: string): string =>
  name === null || namesPage(name) ? instead : name

/**
 * A workspace in the text of an alarm.
 * @param name null: the recipient's address is unverified, so the letter holds no words that somebody else chose.
 */
export const workspaceInWords = (name: string | null): string =>
  nameInLetter(name === null ? null : `the workspace “${name}”`, 'your workspace')
