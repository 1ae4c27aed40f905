import type { Static } from 'typebox'
import { Type } from '../schema.ts'
import {
  Email,
  EmbedTheme,
  EmbedThemeUpdate,
  Env,
  Name,
  nullable,
  resource,
  Slug,
  StoredName,
  strictObject,
  Timestamp,
} from '../shared.ts'
import { CreatedSecretKey } from './secret-keys.ts'

/** A registered origin: scheme, host and optional port; no path, no trailing slash, no wildcard. */
const EmbedOrigin = Type.String({
  maxLength: 255,
  pattern: '^https?://[A-Za-z0-9.-]{1,253}(:[0-9]{1,5})?$',
  examples: ['https://app.example.com'],
})

export const WorkspaceCreate = strictObject({
  name: Name,
  slug: Slug,
  billing_email: Type.Optional(Email),
  env: Type.Optional(Type.Unsafe<Env>({ ...Env, default: 'live' })),
})
export type WorkspaceCreate = Static<typeof WorkspaceCreate>

export const WorkspaceUpdate = strictObject({
  name: Type.Optional(Name),
  billing_email: Type.Optional(nullable(Email)),
  embed_origins: Type.Optional(Type.Array(EmbedOrigin, { maxItems: 20, 'x-unique': true })),
  embed_theme: Type.Optional(EmbedThemeUpdate),
})
export type WorkspaceUpdate = Static<typeof WorkspaceUpdate>

const fields = {
  name: StoredName,
  slug: Slug,
  billing_email: nullable(Email),
  billing_email_verified: Type.Boolean({
    description:
      'Whether the link that was mailed to `billing_email` was used. Before, no other letter goes there.',
  }),
  embed_origins: Type.Array(Type.String()),
  embed_theme: EmbedTheme,
  updated_at: Timestamp,
}
export const Workspace = resource('workspace', fields)
export type Workspace = Static<typeof Workspace>

/** A new workspace has a first secret key. Only this answer shows the key itself. */
export const CreatedWorkspace = resource('workspace', { ...fields, secret_key: CreatedSecretKey })
export type CreatedWorkspace = Static<typeof CreatedWorkspace>
