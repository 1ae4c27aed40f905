import { createReadStream, readFileSync, statSync } from 'node:fs'
import type { Command } from 'commander'
import type { ChainHead } from '../audit/chain.ts'
import { type Checkpoint, readCheckpoint, readVerifierKey } from '../audit/checkpoint.ts'
import { linesOf, NoAuditLog } from '../audit/lines.ts'
import { type FileVerdict, verifyFile } from '../audit/verify-file.ts'
import { type StepLabels, withCopyProgress } from './backup/copy-progress.ts'
import { CommandFailed } from './failure.ts'
import { print, printJson } from './output.ts'

interface Flags {
  head?: string
  after?: string
  checkpoint?: string
  key?: string
  json?: true
}

const labels: StepLabels = {
  count: () => '',
  verify: total => `Verifying ${total} bytes`,
  copy: () => '',
}

export function addAuditCommand(program: Command): void {
  const audit = program
    .command('audit')
    .summary('exported audit logs')
    .description('Exported audit logs: GET /v1/audit_logs/export.')
  audit
    .command('verify')
    .summary('verify an exported log offline')
    .description(
      'Recomputes every hash of an exported audit log from its first row, and names the first position that does not\n' +
        'match. It needs neither the service nor the database. A chain alone cannot show that it was rewritten from its\n' +
        'beginning: compare it with a head or a checkpoint that you keep elsewhere.',
    )
    .argument('<FILE>', 'the exported lines of JSON; - reads standard input')
    .option('--head <SEQ:HASH>', 'a head that you noted: the log must still have it')
    .option('--checkpoint <NOTE>', 'a file with a checkpoint that you kept; needs --key')
    .option('--key <KEY>', 'the key that verifies the checkpoint: name+id+key')
    .option('--after <SEQ:HASH>', 'the row before FILE, if FILE does not begin with the log’s first row')
    .option('--json', 'print the verdict as JSON')
    .addHelpText('after', '\nExit code 1 if the log does not verify.')
    .action(async (file: string, flags: Flags) => {
      const note = readNote(flags)
      const expected = {
        head: flags.head === undefined ? note : readHead('--head', flags.head),
        after: flags.after === undefined ? null : readHead('--after', flags.after),
        workspaceId: note?.workspaceId ?? null,
      }
      const verdict = await withCopyProgress(labels, flags.json === true, async onProgress => {
        const total = file === '-' ? 0 : sizeOf(file)
        const input: AsyncIterable<Buffer> = file === '-' ? process.stdin : createReadStream(file)
        let done = 0
        const counted = async function* () {
          for await (const chunk of input) {
            yield chunk
            done += chunk.length
            if (done < total) onProgress({ step: 'verify', table: null, done, total })
          }
        }
        return await verifyFile(linesOf(counted()), expected)
      }).catch(error => {
        throw error instanceof NoAuditLog ? new CommandFailed(error.message) : error
      })
      if (flags.json) printJson(summary(verdict))
      else print(describe(verdict, expected.head))
      if (!verdict.valid) process.exitCode = 1
    })
}

function sizeOf(file: string): number {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined || found.isDirectory()) throw new CommandFailed(`${file} cannot be read.`)
  return found.size
}

function readHead(flag: string, text: string): ChainHead {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/i.exec(text) ?? []
  if (seq === undefined || hash === undefined)
    throw new CommandFailed(`${flag} takes SEQ:HASH, the hash as 64 digits of hex.`)
  return { seq: Number(seq), hash: Buffer.from(hash, 'hex') }
}

function readNote({ checkpoint, key, head }: Flags): Checkpoint | null {
  if (checkpoint === undefined) return null
  if (head !== undefined) throw new CommandFailed('Give --head or --checkpoint, not both.')
  const verifier = key === undefined ? null : readVerifierKey(key)
  if (verifier === null) throw new CommandFailed('--checkpoint needs --key, in the form name+id+key.')
  sizeOf(checkpoint)
  const note = readCheckpoint(readFileSync(checkpoint, 'utf8'), verifier)
  if (note === null) throw new CommandFailed('The checkpoint is not signed by this key.')
  return note
}

function describe(
  { valid, checked, firstBadSeq, reason, last, workspaceId }: FileVerdict,
  head: ChainHead | null,
) {
  if (!valid)
    return `The log does NOT verify: ${reason} at seq ${firstBadSeq}. The ${checked} rows before it do.`
  if (last === null) return 'This file has no rows.'
  const held = head === null ? '' : `\nIt still has the noted head, at seq ${head.seq}.`
  return (
    `The log verifies: ${checked} rows of workspace ${workspaceId}.${held}\n` +
    `Its last row, to note: ${last.seq}:${last.hash.toString('hex')}`
  )
}

const summary = ({ valid, checked, firstBadSeq, reason, last, workspaceId }: FileVerdict) => ({
  valid,
  workspace_id: workspaceId,
  checked,
  first_bad_seq: firstBadSeq,
  reason,
  head_seq: last?.seq ?? null,
  head_hash: last?.hash.toString('hex') ?? null,
})
