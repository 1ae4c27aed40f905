import { mailedPages } from '@keyrail/contract/mailed-pages'
import { appendAudit } from '../audit/append.ts'
import type { Principal } from '../gate/principal.ts'
import { addressKey } from '../people/address.ts'
import { personWhoVouches } from '../people/vouching.ts'
import type { Clock } from '../platform/clock.ts'
import { drawMailedToken } from '../platform/crypto/mailed-token.ts'
import type { Db } from '../platform/db/db.ts'
import type { Tx } from '../platform/db/transaction.ts'
import type { Client } from '../platform/http/client.ts'
import { chargeLetter } from '../platform/mail/charge.ts'
import type { WriteLetter } from '../platform/mail/deliver.ts'
import { queueMail } from '../platform/mail/queue.ts'
import { nameInLetter } from '../platform/mail/subject.ts'
import type { WriterParts } from '../platform/mail/writer-parts.ts'
import { findWorkspace, storeBillingToken, useBillingToken, type WorkspaceRow } from './sql.ts'

/** A billing address often belongs to a department, whose mailbox is not read every day. */
const billingLinkDays = 7

/**
 * Mails a link to the billing address that a caller has just named, which may be a stranger's: until the link is used, the
 * address gets no other letter. To name the same address again mails another link.
 */
export async function askForProof(
  tx: Tx,
  principal: Principal,
  client: Client,
  { billing_email, billing_email_verified }: WorkspaceRow,
): Promise<void> {
  if (billing_email === null) return
  const personId = await personWhoVouches(tx, principal, 'name a billing address')
  if (billing_email_verified) return
  if (personId !== null) await chargeLetter(tx, personId, principal.kind === 'session' ? client.ip : null)
  const { workspaceId } = tx
  queueMail(tx, {
    kind: 'billing_verification',
    throttle: 'billing_verification',
    workspaceId,
    address: addressKey(billing_email),
    ids: { workspace_id: workspaceId },
  })
}

interface ProofNeeds {
  readonly clock: Clock
  readonly randomBytes: (size: number) => Buffer
}

/**
 * Verifies the billing address of a workspace with the token of a mailed link, which is the only credential.
 * @returns false when the token is wrong, used, expired or replaced, or the workspace has another address by now.
 */
export const proveBillingAddress = (
  deps: ProofNeeds,
  db: Db,
  workspaceId: string,
  digest: Buffer,
): Promise<boolean> =>
  db.inWorkspace(workspaceId, async tx => {
    if (!(await useBillingToken(tx, digest))) return false
    appendAudit(deps, tx, { type: 'system', id: null }, deps.clock.now(), [
      {
        action: 'workspace.updated',
        targetType: 'workspace',
        targetId: workspaceId,
        env: null,
        payload: { billing_email_verified: { old: false, new: true } },
      },
    ])
    return true
  })

/** The mail to a billing address that is not verified yet. */
export function billingLetters({ db, randomBytes, publicUrl }: WriterParts): Record<string, WriteLetter> {
  return {
    billing_verification: ({ workspace_id = '' }) =>
      db.inWorkspace(workspace_id, async tx => {
        const row = await findWorkspace(tx)
        // The address was verified or removed after the job was queued.
        if (row === null || row.billing_email === null || row.billing_email_verified) return null
        const { token, digest } = drawMailedToken(workspace_id, randomBytes)
        storeBillingToken(tx, digest, row.billing_email, billingLinkDays)
        return {
          to: row.billing_email,
          subject: 'Verify a billing address',
          paragraphs: [
            `${nameInLetter(`The workspace “${row.name}”`, 'A workspace')} on Keyrail names this e-mail address for bills and for alarms, such as a key that was found in public. Verify that it is yours.`,
          ],
          action: {
            label: 'Verify e-mail address',
            url: `${publicUrl}${mailedPages.verifyEmail}#token=${token}`,
          },
          afterword: `The link works once, for ${billingLinkDays} days. If you do not know the workspace, ignore this e-mail: Keyrail then sends no others about it.`,
        }
      }),
  }
}
