import { constants } from 'node:fs'
import { access, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { findServiceAccount } from '../db/embedded/account.ts'
import { makeDirectories } from '../files/make-directory.ts'
import { refuseUnsafeDirectory, UnsafePath } from '../files/own-files.ts'
import { composeMessage } from './message.ts'
import { pruneFolder } from './prune-folder.ts'
import { NotSent, type Transport } from './transport.ts'

/** How often old messages are removed. */
const pruneEveryMs = 3_600_000
const pruneEveryLetters = 500

/**
 * Receives one `.eml` file per message, readable by its owner only. A file appears once it is complete, and
 * names sort by time: `20260131T093000.125Z-verify_email-1f3a….eml`. Old ones are removed as new ones arrive. A
 * folder that others control is refused.
 */
export function openMailFolder(path: string): Transport {
  const prune = createPrune(path)
  const refuse = createRefusal(path)
  const mailer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  return {
    async send(letter, kind, postmark) {
      const { message } = await mailer.sendMail(composeMessage(letter, postmark, true))
      const time = postmark.at.toISOString().replace(/[-:]/g, '')
      const name = `${time}-${kind}-${postmark.id.slice(0, 12)}.eml`
      try {
        makeDirectories(path, 0o700)
        refuse()
        await writeWhole(path, name, message as Buffer)
      } catch (error) {
        const code = error instanceof UnsafePath ? 'unsafe folder' : (error as NodeJS.ErrnoException).code
        throw new NotSent(String(code), false)
      }
      // The letter is written: if old ones cannot be removed, it must not be written again.
      await prune(postmark.at.getTime()).catch(() => {})
    },
    async verify() {
      refuse()
      await access(path, constants.W_OK | constants.X_OK).catch(error => {
        // The folder is made with the first message.
        if (error.code !== 'ENOENT') throw error
      })
    },
  }
}

/**
 * Root checks the folder for the account that runs the service. Root looks that account up once, with the first letter: each
 * look-up starts processes, and takes longer than writing a letter.
 */
function createRefusal(path: string): () => void {
  let trusted: number[] | undefined
  return () => {
    if (trusted === undefined) {
      const sender = findServiceAccount({ create: false })
      trusted = sender === undefined ? [] : [sender.uid]
    }
    refuseUnsafeDirectory(path, 'SERVICE_MAIL_URL', trusted)
  }
}

/** Removes old messages with the first letter, and again after an hour or many letters. */
function createPrune(path: string): (now: number) => Promise<void> {
  let [looked, letters] = [Number.NEGATIVE_INFINITY, 0]
  return async now => {
    letters += 1
    if (now - looked < pruneEveryMs && letters < pruneEveryLetters) return
    looked = now
    letters = 0
    await pruneFolder(path, now)
  }
}

async function writeWhole(folder: string, name: string, bytes: Buffer): Promise<void> {
  const partial = join(folder, `.${name}.partial`)
  try {
    const file = await open(partial, 'wx', 0o600)
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(partial, join(folder, name))
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}
