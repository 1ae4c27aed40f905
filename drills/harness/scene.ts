import { AssertionError } from 'node:assert'
import { makeScene } from '../../packages/server/test/vendor.ts'
import { type Api, plainly } from './api.ts'
import { bootstrapToken } from './service.ts'

const triesMost = 20

/** Makes a vendor, again from the start when the service has answered 503, as it may on a busy machine. */
export async function makeDrillScene(api: Api): ReturnType<typeof makeScene> {
  for (let tries = 1; ; tries++) {
    try {
      return await makeScene(plainly(api), bootstrapToken)
    } catch (error) {
      if (tries === triesMost || !(error instanceof AssertionError) || error.actual !== 503) throw error
    }
  }
}
