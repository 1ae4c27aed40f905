import { posix } from 'node:path'
import { Marked, type RendererObject, type Tokens } from 'marked'
import { anchorOf } from './anchors.ts'
import type { Page } from './contents.ts'
import { codeOf, toHtml } from './html.ts'
import { gatherTabs, tabsOf } from './tabs.ts'

/** A document as HTML, and what a search finds in it. */
export interface Rendered {
  readonly html: string
  readonly sections: readonly Section[]
}

interface Section {
  /** Empty above the first heading. */
  readonly anchor: string
  readonly heading: string
  readonly text: string
}

/**
 * A link to a page leads to that page of the same installation. What only the checkout has, and what another host has, is
 * named and not linked: no link leaves the installation.
 */
export function render(markdown: string, source: string, pages: ReadonlyMap<string, Page>): Rendered {
  const marked = new Marked({ renderer: rendererOf(source, pages) })
  marked.use({ extensions: [{ name: 'tabs', renderer: token => tabsOf(token) }] })
  const tokens = marked.lexer(markdown)
  return { html: marked.parser(gatherTabs(tokens)), sections: sectionsOf(tokens) }
}

function rendererOf(source: string, pages: ReadonlyMap<string, Page>): RendererObject {
  const pathOf = (link: string) => posix.join(posix.dirname(source), link)
  const addressOf = (link: string): string | null => {
    const [file = '', anchor] = link.split('#')
    const page = file === '' ? source : pathOf(file)
    const address = pages.get(page)?.address
    return address === undefined ? null : anchor === undefined ? address : `${address}#${anchor}`
  }
  return {
    heading({ tokens, depth, text }) {
      const inner = this.parser.parseInline(tokens)
      const anchor = anchorOf(plainOf(text))
      return `<h${depth} id="${anchor}">${inner}${depth === 1 ? '' : ` <a class="anchor" href="#${anchor}" aria-label="Link to this section">#</a>`}</h${depth}>\n`
    },
    link({ href, tokens }) {
      const inner = this.parser.parseInline(tokens)
      const address = addressOf(href)
      if (address !== null) return `<a href="${toHtml(address)}">${inner}</a>`
      return /^https?:/.test(href) ? `${inner} (${toHtml(href)})` : inner
    },
    code: token => codeOf(token),
    table(token) {
      return `<div class="table" tabindex="0">${tableOf(token, cell => this.parser.parseInline(cell))}</div>\n`
    },
    html({ text }) {
      if (!/^<(?:picture>|source |img |\/picture>)/.test(text.trim())) return toHtml(text)
      return text.replace(
        /(src|srcset)="([^"]+)"/g,
        (_, name, link) => `${name}="${addressOfPicture(pathOf(link))}"`,
      )
    },
  }
}

const addressOfPicture = (path: string): string => path.replace(/^docs\//, '/guides/')

function tableOf(
  { header, rows }: Tokens.Table,
  inline: (tokens: Tokens.TableCell['tokens']) => string,
): string {
  const row = (cells: readonly Tokens.TableCell[], tag: 'th' | 'td') =>
    `<tr>${cells
      // An empty header heads nothing.
      .map(({ tokens, text }) => (text === '' ? '<td></td>' : `<${tag}>${inline(tokens)}</${tag}>`))
      .join('')}</tr>`
  const body = rows.map(cells => row(cells, 'td')).join('\n')
  return `<table>\n<thead>${row(header, 'th')}</thead>\n<tbody>${body}</tbody>\n</table>`
}

function sectionsOf(tokens: readonly { readonly type: string; readonly raw: string }[]): Section[] {
  const sections: { anchor: string; heading: string; text: string }[] = [
    { anchor: '', heading: '', text: '' },
  ]
  for (const { type, raw } of tokens) {
    if (type === 'heading') {
      const heading = plainOf(raw.replace(/^#+ /, '').trim())
      sections.push({ anchor: anchorOf(heading), heading, text: '' })
    } else if (type !== 'space') {
      const section = sections.at(-1)
      if (section !== undefined) section.text += `${plainOf(raw)} `
    }
  }
  return sections.map(({ anchor, heading, text }) => ({ anchor, heading, text: text.trim() }))
}

/** What a person reads of Markdown, on one line. */
const plainOf = (markdown: string): string =>
  markdown
    .replace(/<[a-z/][^>\n]*>/g, ' ')
    .replace(/\]\([^)\s]*\)/g, '')
    .replace(/^\|[-| :]+\|$/gm, ' ')
    .replace(/^```.*$/gm, ' ')
    .replace(/[[\]*`|]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
