import type { Env } from '@keyrail/contract/shared'
import { CodeBlock } from '../../components/code-block.tsx'
import { createSamples } from '../../components/create-samples.ts'
import { Empty } from '../../components/empty.tsx'

interface NoKeysProps {
  readonly env: Env
  /** Whether the person may create keys here. */
  readonly isEditor: boolean
}

/** No key exists yet in this environment: what to type for the first one. */
export const NoKeys = ({ env, isEditor }: NoKeysProps) => (
  <Empty title={env === 'live' ? 'No live keys yet' : 'No test keys yet'}>
    <p>
      A key belongs to a project and to a tenant, which is a customer of yours. Create one{' '}
      {isEditor ? 'here, or ' : ''}from your code.
    </p>
    <CodeBlock
      label="Create a key"
      samples={createSamples(location.origin, 'keys', {
        project_id: 'PROJECT_ID',
        tenant_id: 'TENANT_ID',
        env,
      })}
    />
  </Empty>
)
