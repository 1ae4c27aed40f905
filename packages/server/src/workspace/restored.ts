/** A statement that a restore runs: a link to a billing address that was used after the backup would work again. */
export const billingLinksEndedByRestore =
  'update workspaces set billing_token_digest = null where billing_token_digest is not null'
