import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { type ParsedMail, simpleParser } from 'mailparser'
import type { MailSettings } from '../src/platform/mail/settings.ts'

interface Received {
  to: string
  subject: string
  text: string
  html: string
  /** The page that the link leads to, without the token. */
  page: string | undefined
  token: string | undefined
}

/** A folder that receives mail, read as a mail program would read it. */
export interface Mailbox {
  /** For `startHarness({ mail })`; then `harness.deps.mail.start()`. */
  settings: MailSettings
  /** Waits for a message to this address with a matching subject, and removes it. */
  take(to: string, subject?: RegExp): Promise<Received>
  /** All messages in the folder. */
  all(): Promise<Received[]>
}

const lookMs = 20
/** Half a minute: far longer than any message takes. */
const looksMost = 1_500

export function makeMailbox(): Mailbox {
  const path = mkdtempSync(join(tmpdir(), 'keyrail-mailbox-'))
  // The service may write a last message meanwhile: it ends after its mailbox.
  after(() => rm(path, { recursive: true, force: true, maxRetries: 10 }))
  const read = async () =>
    await Promise.all(
      readdirSync(path)
        .filter(name => name.endsWith('.eml'))
        .toSorted()
        .map(async name => ({ name, mail: received(await simpleParser(readFileSync(join(path, name)))) })),
    )
  return {
    settings: {
      route: { kind: 'folder', path },
      from: { name: 'Keyrail', address: 'no-reply@keyrail.example' },
    },
    async take(to, subject = /./) {
      let found: Awaited<ReturnType<typeof read>>[number] | undefined
      for (let looks = 0; looks < looksMost; looks += 1) {
        found = (await read()).find(({ mail }) => mail.to === to && subject.test(mail.subject))
        if (found !== undefined) {
          rmSync(join(path, found.name))
          return found.mail
        }
        await setTimeout(lookMs)
      }
      throw new Error(`no mail to ${to} with a subject that matches ${subject}`)
    },
    all: async () => (await read()).map(({ mail }) => mail),
  }
}

function received(mail: ParsedMail): Received {
  const to = [mail.to ?? []].flat().flatMap(({ value }) => value)
  if (to.length !== 1) throw new Error('a message has one recipient')
  const text = mail.text ?? ''
  const [, page, token] = /^(https?:\/\/\S+)#token=(\S+)$/m.exec(text) ?? []
  return { to: to[0]?.address ?? '', subject: mail.subject ?? '', text, html: mail.html || '', page, token }
}
