/**
 * Statements that a restore runs. Without them, sessions that were ended after the backup, because they were stolen for
 * example, and links that were used after it would work again.
 */
export const endingsOfRestore: readonly string[] = [
  'update sessions set ended_at = service_now() where ended_at is null',
  'update mail_tokens set used_at = service_now() where used_at is null',
  `update user_passwords set devices = '{}' where devices <> '{}'`,
  'update disownings set token_digest = null where token_digest is not null',
]
