import { protectApi } from './api.ts'
import { proveIt } from './log.ts'
import { measure } from './speed.ts'
import { Conversation } from './talk.ts'
import { issueKeys } from './vendor.ts'

/** What Keyrail is for: keys are issued, an API verifies them by itself, a revoked one is dead, and the log proves it. */
export async function runMainJob(url: string, bootstrapToken: string): Promise<void> {
  const talk = new Conversation(url)
  const vendor = await issueKeys(talk, bootstrapToken)
  await protectApi(talk, url, vendor)
  await measure(talk, url, vendor)
  await proveIt(talk, vendor)
}
