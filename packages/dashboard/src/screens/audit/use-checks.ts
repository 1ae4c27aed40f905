import type { AuditChain, AuditChainProgress } from '@keyrail/contract/vendor/audit'
import { useState } from 'react'
import { exportAuditLogs, verifyAuditChain } from '../../api/audit.ts'
import { saveFile } from '../../components/save-file.ts'

/** What the page does with the whole log, one at a time, or what came of it. */
export type Check =
  /** `step` is null until the run has begun. */
  | { state: 'verifying'; step: AuditChainProgress | null }
  | { state: 'verified'; chain: AuditChain }
  | { state: 'exporting'; rows: number }
  | { state: 'exported'; rows: number; file: string }
  | { state: 'failed'; error: unknown; again: () => void }

export function useChecks() {
  const [check, setCheck] = useState<Check | null>(null)
  const run = async (work: () => Promise<void>) => {
    try {
      await work()
    } catch (error) {
      setCheck({ state: 'failed', error, again: () => void run(work) })
    }
  }
  const verify = () =>
    run(async () => {
      setCheck({ state: 'verifying', step: null })
      const onStep = (step: AuditChainProgress) => setCheck({ state: 'verifying', step })
      setCheck({ state: 'verified', chain: await verifyAuditChain({}, { onStep }) })
    })
  const save = () =>
    run(async () => {
      let rows = 0
      setCheck({ state: 'exporting', rows })
      const parts: Uint8Array<ArrayBuffer>[] = []
      await exportAuditLogs(
        {},
        {
          onBytes(bytes) {
            parts.push(bytes)
            for (const byte of bytes) if (byte === lineFeed) rows++
            setCheck({ state: 'exporting', rows })
          },
        },
      )
      const file = `audit-${new Date().toISOString().slice(0, 10)}.ndjson`
      saveFile(file, 'application/x-ndjson', parts)
      setCheck({ state: 'exported', rows, file })
    })
  const isBusy = check?.state === 'verifying' || check?.state === 'exporting'
  return { check, isBusy, verify, save }
}

const lineFeed = 10
