/** A letter to one person. All parts are plain text; a line break becomes a blank. */
export interface Letter {
  /** The mailbox of the recipient, as stored. */
  readonly to: string
  readonly subject: string
  readonly greeting?: string
  readonly paragraphs: readonly string[]
  /** The letter's action: a button, or in text a link on a separate line. */
  readonly action?: { readonly label: string; readonly url: string }
  /** Text in small print. */
  readonly afterword?: string
}

/** The most columns of a line of text; a word is never broken. */
const columns = 72

/**
 * Callers have written some of the text, such as the name of a workspace: such text cannot break the line or change the
 * direction.
 */
export const onOneLine = (text: string): string =>
  text
    .replace(/[\p{Cc}\s\u2028\u2029]+/gu, ' ')
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, '')
    .trim()

/** The letter as text/plain, with LF line ends. */
export function renderText({ greeting, paragraphs, action, afterword }: Letter): string {
  const blocks = [
    ...(greeting === undefined ? [] : [wrap(greeting)]),
    ...paragraphs.map(wrap),
    ...(action === undefined ? [] : [`${wrap(`${action.label}:`)}\n\n${action.url}`]),
    ...(afterword === undefined ? [] : [`--\n${wrap(afterword)}`]),
  ]
  return `${blocks.join('\n\n')}\n`
}

function wrap(text: string): string {
  const lines: string[] = []
  let line = ''
  for (const word of onOneLine(text).split(' ')) {
    if (line !== '' && line.length + 1 + word.length > columns) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line].join('\n')
}

const body = 'font:16px/1.5 system-ui,sans-serif;max-width:34em;margin:2em auto;padding:0 1em'
const button =
  'display:inline-block;padding:.6em 1.2em;border-radius:.4em;background:#1d4ed8;color:#fff;text-decoration:none'
const small = 'font-size:13px;opacity:.75'
const whole = 'font-size:13px;overflow-wrap:anywhere'

/** The letter as HTML. It loads nothing: no picture, no font, no script. */
export function renderHtml({ subject, greeting, paragraphs, action, afterword }: Letter): string {
  const paragraph = (text: string, style?: string) =>
    `<p${style === undefined ? '' : ` style="${style}"`}>${escapeHtml(onOneLine(text))}</p>`
  const url = action === undefined ? '' : escapeHtml(action.url)
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${escapeHtml(onOneLine(subject))}</title>`,
    '</head>',
    `<body style="${body}">`,
    ...(greeting === undefined ? [] : [paragraph(greeting)]),
    ...paragraphs.map(text => paragraph(text)),
    ...(action === undefined
      ? []
      : [
          `<p><a href="${url}" style="${button}">${escapeHtml(onOneLine(action.label))}</a></p>`,
          `<p style="${whole}">Or open this link:<br><a href="${url}">${url}</a></p>`,
        ]),
    ...(afterword === undefined ? [] : [paragraph(afterword, small)]),
    '</body>',
    '</html>',
    '',
  ].join('\n')
}

const entities: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, found => entities[found] ?? found)
