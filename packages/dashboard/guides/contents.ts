import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

/** The documents of the checkout that are guides: what the contents page links to, in its order. */
export interface Contents {
  readonly groups: readonly { readonly title: string; readonly pages: readonly Page[] }[]
  /** By their paths in the checkout, the contents page too. */
  readonly pages: ReadonlyMap<string, Page>
}

export interface Page {
  /** From the checkout's directory: `docs/sdk/limits.md`. */
  readonly source: string
  readonly title: string
  /** Its address on an installation: `/guides/sdk/limits`. */
  readonly address: string
  readonly markdown: string
}

export const contentsPage = 'docs/README.md'

/** The records say to those who change Keyrail why its code is as it is. */
const leftOut = /^## Decisions$[\s\S]*/m

export function readContents(checkout: string): Contents {
  const read = (source: string): Page => {
    const markdown = readFileSync(join(checkout, source), 'utf8')
    const [, title = source] = /^# (.+)$/m.exec(markdown) ?? []
    return { source, title, address: addressOf(source), markdown }
  }
  const whole = read(contentsPage)
  const start: Page = { ...whole, title: 'Guides', markdown: whole.markdown.replace(leftOut, '') }
  const pages = new Map([[contentsPage, start]])
  const groups = start.markdown.split(/^#{2,3} /m).flatMap(text => {
    const [title = ''] = text.split('\n')
    const linked = [...text.matchAll(/^- .*?\]\(([\w/-]+\.md)\)/gm)].map(([, link = '']) =>
      read(posix.join('docs', link)),
    )
    for (const page of linked) pages.set(page.source, page)
    return linked.length === 0 ? [] : [{ title, pages: linked }]
  })
  return { groups, pages }
}

const addressOf = (source: string): string =>
  `/guides/${source.replace(/^docs\//, '').replace(/(?:README)?\.md$/, '')}`.replace(/\/$/, '')
