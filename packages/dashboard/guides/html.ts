import type { Tokens } from 'marked'

export const toHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** A block of code. Behind its language may stand a name, which is for tabs. */
export function codeOf({ text, lang = '' }: Pick<Tokens.Code, 'text' | 'lang'>): string {
  const [language = ''] = lang.split(' ')
  const named = language === '' ? '' : ` class="${toHtml(language)}"`
  return `<pre tabindex="0"><code${named}>${toHtml(text)}\n</code></pre>\n`
}
