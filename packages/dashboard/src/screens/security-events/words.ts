import type { SecurityEvent, SecurityEventKind } from '@keyrail/contract/security-events'

/** Every kind of event as a person says it. */
export const eventWords: Record<SecurityEventKind, string> = {
  sign_in: 'Signed in',
  sign_in_failed: 'Sign-in failed',
  new_device: 'Signed in from a new device',
  workspace_entered: 'Entered the workspace',
  session_ended: 'Session ended',
  password_changed: 'Password changed',
  reset_requested: 'Reset of the password requested',
  password_reset: 'Password reset by mail',
  address_verified: 'E-mail address verified',
  owner_added: 'Owner added',
  owner_key_created: 'Secret key with the rights of an owner created',
  permission_refused: 'Refused: not permitted',
  address_refused: 'Refused: address not allowed',
  throttled: 'Refused: too many requests',
  credential_leaked: 'Leaked credential reported',
  workspace_deleted: 'Workspace deleted',
}

export const isKind = (text: unknown): text is SecurityEventKind =>
  typeof text === 'string' && Object.hasOwn(eventWords, text)

const leakedWords: Record<string, string> = {
  api_key: 'a key',
  secret_key: 'a secret key',
  session: 'a session',
}

/** What the details of an event add; null where they are ids alone. */
export function detailOf({ details }: Pick<SecurityEvent, 'details'>): string | null {
  const { route, code, ended, made_ended, credential_kind, slug, more } = details
  if (more === true) return 'many in this minute, counted together'
  if (typeof route === 'string') return typeof code === 'string' ? `${route}, ${code}` : route
  if (typeof ended === 'number') return `all ${ended} others`
  if (made_ended === true) return 'all ended that the account had made'
  if (typeof credential_kind === 'string') return leakedWords[credential_kind] ?? credential_kind
  return typeof slug === 'string' ? slug : null
}
