import type { AuditChain, AuditChainProgress } from '@keyrail/contract/vendor/audit'
import { Button } from '@mantine/core'
import { CopyText } from '../../components/copy-text.tsx'
import { counted, figure } from '../../components/figures.ts'
import { saveFile } from '../../components/save-file.ts'
import { Panel, Working } from '../../components/working.tsx'
import classes from './chain.module.css'

const reasons: Record<NonNullable<AuditChain['reason']>, string> = {
  gap: 'A row is missing, or one stands there twice.',
  hash_mismatch: 'This row is not what was written.',
  head_mismatch: 'The log does not end where its head says.',
}

export function Verifying({ step }: { step: AuditChainProgress | null }) {
  if (step === null) return <Working>Verifying the chain…</Working>
  const { checked, rows } = step
  return (
    <Working done={{ value: checked, max: rows }}>
      Verifying: {figure(checked)} of {counted(rows, 'row')}…
    </Working>
  )
}

export function Verdict({ chain }: { chain: AuditChain }) {
  const { valid, checked, first_bad_seq, reason, head_seq, head_hash, checkpoint } = chain
  if (!valid) {
    return (
      <Panel isFault>
        <p className={classes.fault}>
          The chain breaks at position {figure(first_bad_seq ?? checked + 1)}
          {reason === null ? '' : ` (${reason})`}.
        </p>
        <p className={classes.line}>
          {reason === null ? '' : reasons[reason]}{' '}
          {checked === 0
            ? 'No row before it holds.'
            : `The ${counted(checked, 'row')} before it ${checked === 1 ? 'holds' : 'hold'}.`}
        </p>
      </Panel>
    )
  }
  return (
    <Panel>
      <p className={classes.line}>
        <strong>
          {counted(checked, 'row')} {checked === 1 ? 'holds' : 'hold'}
        </strong>
        , head <CopyText text={head_hash ?? ''} label="Copy the hash of the head" />
      </p>
      {checkpoint === null ? null : (
        <div>
          <Button
            variant="default"
            size="xs"
            onClick={() => saveFile(`audit-checkpoint-${head_seq}.txt`, 'text/plain', [checkpoint])}
          >
            Download checkpoint
          </Button>
          <p className={classes.hint}>
            Keep it where the operator of the database cannot write: it proves a later rewrite of the log.
          </p>
        </div>
      )}
    </Panel>
  )
}
