import { randomBytes, randomUUID } from 'node:crypto'
import {
  type EmbedTokens,
  openEmbedTokens,
  tokenLifeS,
} from '../../packages/server/src/embed/signed-token.ts'
import { serviceBudgets } from '../../packages/server/src/platform/budgets.ts'
import { systemClock } from '../../packages/server/src/platform/clock.ts'
import { openSealing } from '../../packages/server/src/platform/crypto/sealing.ts'
import { openSigningKeys } from '../../packages/server/src/platform/crypto/signing-keys.ts'
import { encryptionKeys } from '../../packages/server/test/encryption-key.ts'
import type { RequestSource } from '../harness/request.ts'
import type { ScratchPostgres } from '../harness/scratch-postgres.ts'
import { sessionRequest } from './embed-requests.ts'
import type { Vendor } from './vendor.ts'

const sealing = openSealing(encryptionKeys, randomBytes)

/** Signs like the service, with its key: minting over HTTP would take longer than a round. */
export const openMint = ({ connection }: ScratchPostgres, publicUrl: string): EmbedTokens =>
  openEmbedTokens(
    openSigningKeys(
      { connection, sealing, plainForS: 0, requestMs: serviceBudgets.requestMs },
      null,
      systemClock,
    ),
    publicUrl,
    systemClock,
  )

/** Tokens of one tenant, each of another browser. They live five minutes, so every round makes new ones. */
export async function mintTokens(
  mint: EmbedTokens,
  { workspaceId, projectId, tenantIds, tokenId }: Vendor,
  count: number,
): Promise<string[]> {
  const issuedAt = Math.floor(systemClock.now() / 1_000)
  const tokens: string[] = []
  for (let n = 0; n < count; n++) {
    const claims = {
      id: randomUUID(),
      workspaceId,
      projectId,
      tenantId: tenantIds[0] ?? '',
      mintedBy: tokenId,
      env: 'live' as const,
      scopes: ['keys:read', 'keys:write'],
      origins: null,
      epoch: 1,
      issuedAt,
      expiresAt: issuedAt + tokenLifeS,
    }
    tokens.push(await mint.mint(claims))
  }
  return tokens
}

/** Each connection encodes its copy of a list ahead: cheaper for a short list. */
const LISTED_MAX = 1_000

/** The first call of a widget on a page. */
export function sessionRequests(tokens: readonly string[], origin: string, path: string): RequestSource {
  if (tokens.length <= LISTED_MAX) return tokens.map(token => sessionRequest(token, origin, path))
  return { module: new URL('embed-requests.ts', import.meta.url).href, argument: { tokens, origin, path } }
}
