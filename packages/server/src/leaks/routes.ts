import { leakRoutes } from '@keyrail/contract/routes/leaks'
import { unauthenticated } from '../gate/authenticate.ts'
import { servedWith } from '../gate/serve.ts'
import type { Signature } from '../gate/signature.ts'
import { receiveLeaks } from './actions.ts'
import type { LeakNeeds } from './needs.ts'

const serve = servedWith<LeakNeeds>()

/** 5 MiB: a code host may find very many at once. */
const reportMax = 5 * 1_048_576

const signed = {
  headers: { keyId: 'github-public-key-identifier', value: 'github-public-key-signature' },
  async admit({ codehostKeys }: LeakNeeds, { keyId }: Signature) {
    if (!(await codehostKeys.isKnown(keyId))) throw unauthenticated()
  },
}

export const routes = serve(leakRoutes, {
  'POST /v1/webhooks/codehost/secret_scanning': {
    signed,
    bodyLimit: reportMax,
    handle: async (deps, { db, body, signature }) => ({
      body: await receiveLeaks(deps, db, body, signature),
    }),
  },
})
