import { protectApi } from './api.ts'
import { proveIt } from './log.ts'
import { openWorkspace } from './people.ts'
import { measure } from './speed.ts'
import { Conversation } from './talk.ts'
import { issueKeys, makeServerKey, type Vendor } from './vendor.ts'

/**
 * The main job of Keyrail: people open a workspace, keys are issued, an API verifies them locally, a revoked key is
 * refused, and the log proves it.
 *
 * @param mailFolder where the service puts its mail.
 */
export async function runMainJob(url: string, mailFolder: string): Promise<Vendor> {
  const talk = new Conversation(url)
  const { token } = await openWorkspace(talk, mailFolder)
  const vendor = await issueKeys(talk, token)
  const serverKey = await makeServerKey(talk, vendor)
  await protectApi(talk, url, vendor, serverKey)
  await measure(talk, url, vendor, serverKey)
  await proveIt(talk, vendor)
  return vendor
}
