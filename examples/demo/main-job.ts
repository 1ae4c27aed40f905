import { protectApi } from './api.ts'
import { proveIt } from './log.ts'
import { openWorkspace } from './people.ts'
import { measure } from './speed.ts'
import { Conversation } from './talk.ts'
import { issueKeys, makeServerKey } from './vendor.ts'

/**
 * What Keyrail is for: people open a workspace, keys are issued, an API verifies them by itself, a revoked one is dead,
 * and the log proves it.
 * @param mailFolder where the service puts its mail.
 */
export async function runMainJob(url: string, mailFolder: string): Promise<void> {
  const talk = new Conversation(url)
  const { token } = await openWorkspace(talk, mailFolder)
  const vendor = await issueKeys(talk, token)
  const serverKey = await makeServerKey(talk, vendor)
  await protectApi(talk, url, vendor, serverKey)
  await measure(talk, url, vendor, serverKey)
  await proveIt(talk, vendor)
}
