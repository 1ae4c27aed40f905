import { constants } from 'node:fs'
import { access, open, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { makeDirectories } from '../make-directory.ts'
import { composeMessage } from './message.ts'
import { NotSent, type Transport } from './transport.ts'

/**
 * Receives one `.eml` a message, readable by its owner alone. A file is there only when it is whole, and names are in the
 * order of time: `20260131T093000.125Z-verify_email-1f3a….eml`.
 */
export function openMailFolder(path: string): Transport {
  const mailer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' })
  return {
    async send(letter, kind, postmark) {
      const { message } = await mailer.sendMail(composeMessage(letter, postmark, true))
      const time = postmark.at.toISOString().replace(/[-:]/g, '')
      const name = `${time}-${kind}-${postmark.id.slice(0, 12)}.eml`
      try {
        makeDirectories(path, 0o700)
        await writeWhole(path, name, message as Buffer)
      } catch (error) {
        throw new NotSent(String((error as NodeJS.ErrnoException).code), false)
      }
    },
    async verify() {
      await access(path, constants.W_OK | constants.X_OK).catch(error => {
        // Made with the first message.
        if (error.code !== 'ENOENT') throw error
      })
    },
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
