import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errors } from '@keyrail/contract/errors'
import { contentsPage, readContents } from './contents.ts'
import { layOut } from './layout.ts'
import { type Rendered, render } from './render.ts'

/**
 * Writes the guides into a build of the dashboard: a page for each document that the contents page of `docs` names, a page for
 * each code of an error, and what their search reads. The service serves them at `/guides` and `/errors`.
 */
export function writeGuides(checkout: string, into: string): void {
  const contents = readContents(checkout)
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(into, path)), { recursive: true })
    writeFileSync(join(into, path), text)
  }
  const found: { title: string; address: string; sections: Rendered['sections'] }[] = []
  for (const { source, title, address, markdown } of contents.pages.values()) {
    const { html, sections } = render(markdown, source, contents.pages)
    write(fileOf(address), layOut({ title, address, article: html }, contents))
    if (source !== contentsPage) found.push({ title, address, sections })
  }
  const catalogue = contents.pages.get('docs/errors.md')
  for (const code of Object.keys(errors)) {
    const markdown = `# ${code}\n${sectionOf(catalogue?.markdown ?? '', code)}\n\n[All errors](errors.md)\n`
    const { html } = render(markdown, 'docs/errors.md', contents.pages)
    const address = `/errors/${code}`
    write(fileOf(address), layOut({ title: code, address, article: html }, contents))
  }
  write('guides/search.json', JSON.stringify(found))
  for (const name of ['guides.css', 'guides.js'])
    write(`guides/${name}`, readFileSync(join(import.meta.dirname, name), 'utf8'))
  cpSync(join(checkout, 'docs/pictures'), join(into, 'guides/pictures'), { recursive: true })
}

/** Where a build has the page of an address. */
const fileOf = (address: string): string =>
  `${address === '/guides' ? 'guides/index' : address.slice(1)}.html`

/** The text below a heading of the second level. */
function sectionOf(markdown: string, heading: string): string {
  const [, text] = markdown.split(new RegExp(`^## ${heading}$`, 'm'))
  if (text === undefined) throw new Error(`docs/errors.md has no section ${heading}`)
  return text.split(/^## /m)[0] ?? ''
}
