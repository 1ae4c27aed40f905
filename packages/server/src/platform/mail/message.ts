import type { SendMailOptions } from 'nodemailer'
import type { Mailbox } from './address.ts'
import { type Letter, onOneLine, renderHtml, renderText } from './letter.ts'

/** The parts of a message besides the letter. */
export interface Postmark {
  readonly from: Mailbox
  readonly at: Date
  /** The id, unique among the messages of a sender. */
  readonly id: string
}

/**
 * Makes the mail library's message from a letter. Addresses are objects and the envelope is explicit, so that
 * nothing in them is read as a list; the library reads no file and no URL.
 * @param eightBit whether text may be sent unencoded, as into a file.
 */
export function composeMessage(
  letter: Letter,
  { from, at, id }: Postmark,
  eightBit: boolean,
): SendMailOptions {
  const to = { name: '', address: letter.to }
  return {
    envelope: { from: { ...from, name: '' }, to: [to] } as never,
    from: { ...from },
    to: [to],
    subject: onOneLine(letter.subject),
    date: at,
    messageId: `<${id}@${from.address.slice(from.address.lastIndexOf('@') + 1)}>`,
    // Asks mail programs to send no out-of-office replies. RFC 3834, section 5.
    headers: { 'Auto-Submitted': 'auto-generated' },
    alternatives: [
      textPart(renderText(letter), eightBit),
      { contentType: 'text/html; charset=utf-8', content: renderHtml(letter) },
    ],
    xMailer: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

/** RFC 5322, section 2.1.1, without the line's end. */
const longestLine = 998

/**
 * The library would encode every line longer than 76 columns, which breaks a link in two for a person who reads the source, for
 * example in the development folder. Text that needs no encoding is sent as it is.
 */
function textPart(text: string, eightBit: boolean) {
  const isAscii = /^[\n\x20-\x7e]*$/.test(text)
  const isShort = text.split('\n').every(line => Buffer.byteLength(line) <= longestLine)
  if (!isShort || !(isAscii || eightBit)) return { contentType: 'text/plain; charset=utf-8', content: text }
  const head = `Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: ${isAscii ? '7' : '8'}bit\n\n`
  return { raw: (head + text).replaceAll('\n', '\r\n') }
}
