/**
 * The browser of a tenant. `mint.ts` makes tokens in the form of `signed-token.ts` and stores nothing, `session.ts`
 * returns what a token allows, `actions.ts` manages the keys of the tenant, `tenant.ts` its networks.
 */

import type { Room } from '../gate/room.ts'
import type { Clock } from '../platform/clock.ts'
import { makeSigningKey, openSigningKeys } from '../platform/crypto/signing-keys.ts'
import { pruneSigningKeys, rotateSigningKeys } from '../platform/db/sealed/signing-keys.ts'
import type { SealedStore } from '../platform/db/sealed/store.ts'
import { routes } from './routes.ts'
import { openEmbedTokens } from './signed-token.ts'

type SigningKey = Parameters<typeof openSigningKeys>[1]

interface Outside {
  readonly config: { readonly signingKey: SigningKey; readonly publicUrl: string }
  readonly clock: Clock
  readonly sealed: SealedStore
}

export const embed = {
  routes,
  open: ({ config, clock, sealed }: Outside) => ({
    embedTokens: openEmbedTokens(openSigningKeys(sealed, config.signingKey, clock), config.publicUrl, clock),
  }),
  chores: ({ signing }: { signing: SealedStore | null }) => [
    pruneSigningKeys,
    ...(signing === null ? [] : [rotateSigningKeys(signing, makeSigningKey)]),
  ],
} satisfies Room
