import type { Env } from '@keyrail/contract/shared'
import { CodeBlock } from '../../components/code-block.tsx'
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
      samples={[
        { name: 'curl', code: curl(env) },
        { name: 'TypeScript', code: typeScript(env) },
      ]}
    />
  </Empty>
)

const curl = (env: Env) => `curl ${location.origin}/v1/keys \\
  -H "Authorization: Bearer $KEYRAIL_SECRET_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"project_id": "PROJECT_ID", "env": "${env}",
       "external_id": "org_1"}'`

const typeScript = (env: Env) =>
  `const created = await keyrail.admin.keys.create({
  project_id: projectId,
  env: '${env}',
  external_id: 'org_1',
})`
