/** Mints embed tokens. `handler.ts` answers the pages that ask for one, `web-handler.ts` those of the Fetch API. */

import { createAdmin } from '../admin/create.ts'
import type { EmbedToken } from '../admin/types.ts'
import {
  type ConnectionOptions,
  connectionNames,
  type ErrorOptions,
  readReports,
  refuseUnknown,
} from '../http/connection-options.ts'
import { readProject, readSecretKeyEnv } from '../http/option-values.ts'
import { currentSecretKey, readSecretKey } from '../http/secret-key.ts'
import { KeyrailError } from '../runtime/errors.ts'

/** Options of `createEmbed`. The secret key needs the preset `embed`. */
export interface EmbedOptions extends ConnectionOptions, ErrorOptions {
  /** Id of the project whose keys the pages manage. Default: `KEYRAIL_PROJECT`. */
  project?: string | undefined
}

/** Whose keys a page manages, and what it may do: a tenant by `externalId`, your own id, or by `tenantId`. */
export interface EmbedTokenRequest {
  externalId?: string | undefined
  tenantId?: string | undefined
  /** Creates the tenant if there is none with this `externalId`. */
  createTenant?: { name?: string | undefined } | undefined
  /** `keys:read`, `keys:write`, and `key_scope:<scope>` for each scope that a key may have. Default: `keys:read`. */
  scopes?: readonly string[] | undefined
  /** Default: that of the secret key. */
  env?: 'live' | 'test' | undefined
  /** Default: all `embedOrigins` of the workspace. */
  origins?: readonly string[] | undefined
}

/** Lets customers manage their keys in your pages. */
export interface Embed {
  /** `POST /v1/embed_tokens`: a token for the browser of one tenant, valid for five minutes. Rejects with a `KeyrailError`. */
  createToken(request: EmbedTokenRequest): Promise<EmbedToken>
}

const known: { readonly [Name in keyof Required<EmbedOptions>]: true } = {
  ...connectionNames,
  project: true,
  onError: true,
}

/**
 * Mints embed tokens for one project.
 *
 * @throws TypeError naming a missing or wrong option
 */
export function createEmbed(options: EmbedOptions = {}): Embed {
  refuseUnknown('createEmbed', options, known)
  const { project, onError: _, ...connection } = options
  const secretKey = readSecretKey(connection.secretKey)
  const { embedTokens } = createAdmin({ ...connection, secretKey, timeoutMs: 5_000 })
  const projectId = readProject(project)
  const reports = readReports(options)
  return {
    async createToken({ env, ...more }) {
      try {
        const source = typeof secretKey === 'string' ? secretKey : await currentSecretKey(secretKey)
        const body = {
          ...more,
          projectId,
          env: env ?? readSecretKeyEnv(source),
        }
        const token = await embedTokens.create(body as Parameters<typeof embedTokens.create>[0])
        reports.success()
        return token
      } catch (error) {
        if (error instanceof KeyrailError) reports.error(error)
        throw error
      }
    },
  }
}
