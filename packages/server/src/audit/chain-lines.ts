import type { AuditChain, AuditChainProgress } from '@keyrail/contract/vendor/audit'
import { JsonLines } from '../platform/http/body/json-lines.ts'
import type { VerifyChain } from './verify.ts'
import type { ChainStep } from './verify-run.ts'

type Line = AuditChainProgress | AuditChain

/**
 * A verification as lines: its progress, as often as the client takes lines, and the result. The run continues when the client
 * has gone: other clients may share it, and it ends by itself.
 *
 * @param judgeAgain throws when the credential has ended, which a long run could outlive.
 * @throws {Refusal} until the run has begun; after that the refusal is the last line.
 */
export async function verifyInLines(
  verifyChain: VerifyChain,
  workspaceId: string,
  judgeAgain: () => Promise<void>,
  gone: AbortSignal,
): Promise<JsonLines> {
  const run = { step: null as ChainStep | null, isOver: false, news: Promise.withResolvers<void>() }
  const chain = verifyChain(workspaceId, step => {
    run.step = step
    run.news.resolve()
  })
  const end = () => {
    run.isOver = true
    run.news.resolve()
  }
  chain.then(end, end)
  gone.addEventListener('abort', end)
  await run.news.promise
  if (run.step === null) await chain
  return new JsonLines(lines())

  async function* lines(): AsyncGenerator<Line> {
    do {
      await run.news.promise
      run.news = Promise.withResolvers()
      const { step } = run
      run.step = null
      if (step !== null) yield { object: 'audit_chain_progress', ...step }
    } while (!run.isOver)
    if (gone.aborted) return
    await judgeAgain()
    yield await chain
  }
}
