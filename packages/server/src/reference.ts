import { type ErrorCode, errors, statusOf } from '@keyrail/contract/errors'
import { Type } from '@keyrail/contract/schema'
import Fastify, { type FastifyInstance, type FastifySchema } from 'fastify'
import { parameterOf, type Route } from './gate/route.ts'
import { scopeFieldsOf, warningHeader } from './gate/scope-warnings.ts'
import { workspaceHeader } from './gate/stated-workspace.ts'
import { onceItSucceeds } from './platform/concurrency/once.ts'
import { linesType } from './platform/http/body/json-lines.ts'
import { serveStatic } from './platform/http/serve-static.ts'
import { openReferencePage } from './reference-page.ts'
import { describedTags, introduction, tagOf } from './reference-text.ts'
import { version } from './version.ts'

/**
 * The OpenAPI 3.1 document at `/v1/openapi.json`, generated from the schemas that validate requests, and the page at
 * `/docs` that shows it. Both are built on the first request: their libraries take as long to load as everything else,
 * and a restart should not wait for them.
 */
export function serveReference(app: FastifyInstance, routes: readonly Route[]): void {
  serveStatic(app, '/v1/openapi.json', 'no-cache', async () => ({
    type: 'application/json; charset=utf-8',
    body: await makeDocument(routes),
    headers: {},
  }))
  const open = onceItSucceeds(openReferencePage)
  app.get('/docs', async (_request, reply) => reply.redirect('/docs/', 301))
  serveStatic(app, '/docs/', 'no-cache', async () => (await open()).page)
  serveStatic(app, '/docs/js/scalar.js', 'no-cache', async () => (await open()).script)
}

/** A temporary app that describes every route and serves none. */
async function makeDocument(routes: readonly Route[]): Promise<string> {
  const { default: swagger } = await import('@fastify/swagger')
  const paper = Fastify({ exposeHeadRoutes: false })
  paper.setValidatorCompiler(() => () => true)
  paper.setSerializerCompiler(() => body => JSON.stringify(body))
  await paper.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Keyrail',
        version,
        description: introduction,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/' }],
      tags: [...describedTags],
      components: {
        securitySchemes: Object.fromEntries(
          Object.entries(schemes).map(([name, description]) => [
            name,
            { type: 'http' as const, scheme: 'bearer', description },
          ]),
        ),
      },
    },
  })
  for (const route of routes) {
    paper.route({ method: route.method, url: route.path, schema: describe(route), handler: async () => {} })
  }
  await paper.ready()
  const document = paper.swagger()
  markOptionalBodies(document as object)
  return JSON.stringify(document)
}

const schemes: Record<string, string> = {
  secret_key: 'A secret key, `krsk_…`: the credential of a vendor’s backend.',
  session: 'A dashboard session, `krses_…`: the credential of a signed-in person.',
  embed_token:
    'A token for the browser of a vendor’s customer, from `POST /v1/embed_tokens`. It is valid for five minutes.',
  bootstrap: 'The operator’s bootstrap token: creates workspaces and nothing else.',
}

/** A route in OpenAPI: its parameters, its responses, and every error code. */
function describe(route: Route): FastifySchema {
  const { access } = route
  const parameter = parameterOf(route.path)
  return {
    operationId: route.operation,
    summary: route.summary,
    description: describeRoute(route),
    tags: [tagOf(route.path)],
    ...(access.open ? { security: [] } : { security: access.credentials.map(kind => ({ [kind]: [] })) }),
    querystring: route.query,
    ...(parameter !== undefined && {
      params: Type.Object({ [parameter.slice(1)]: Type.String({ format: 'uuid' }) }),
    }),
    ...(takesBody(route) && { body: shown(route.body ?? route.signed?.schema) }),
    headers: Type.Object(headersOf(route)),
    response: {
      [route.answer.status]: success(route),
      ...(route.conditional && {
        304: { description: 'Unchanged since the version in `If-None-Match`.' },
      }),
      ...problems(route),
    },
  } as FastifySchema
}

/** A body whose rows are judged one by one is declared as one of any objects, and shown with the shape of these. */
const shown = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema), (_, value: unknown) =>
    typeof value === 'object' && value !== null && 'x-shape' in value ? value['x-shape'] : value,
  )

function success(route: Route) {
  const { schema, type, lines } = route.answer
  const description = 'Success'
  if (type === undefined && lines === undefined) return { description, ...schema, ...warningsOf(route) }
  return {
    description,
    content: {
      [type ?? 'application/json']: { schema },
      ...(lines !== undefined && { [linesType]: { schema: lines } }),
    },
  }
}

const warningsOf = (route: Route) =>
  scopeFieldsOf(route).length > 0 && {
    headers: {
      [warningHeader]: Type.String({
        description: 'Names scopes of the request with a space or a `*`: scopes match exactly.',
      }),
    },
  }

const describeRoute = ({ description, access }: Route) =>
  [
    ...(description === '' ? [] : [description]),
    ...(access.open || access.permission === undefined ? [] : [describeLimits(access.permission, access)]),
  ].join('\n\n')

/** The limits that a secret key may have for a route. */
const describeLimits = (
  permission: string,
  { withinProjects, unlimitedOnly }: { withinProjects?: true; unlimitedOnly?: true },
) => {
  const sentences = [`A secret key with a list of permissions needs \`${permission}\`.`]
  if (unlimitedOnly) sentences.push('A secret key with any limit is refused.')
  else if (!withinProjects) sentences.push('A secret key with `project_ids` is refused.')
  return sentences.join(' ')
}

const takesBody = ({ body, signed }: Route) => body !== null || signed !== null

/** A body whose fields are all optional may be omitted, but the plugin marks every body as required. */
function markOptionalBodies({ paths }: { paths?: Record<string, Record<string, Operation>> }): void {
  for (const path of Object.values(paths ?? {})) {
    for (const { requestBody } of Object.values(path)) {
      if (requestBody === undefined) continue
      const schema = requestBody.content['application/json']?.schema
      requestBody.required = schema?.required !== undefined || schema?.type === 'array'
    }
  }
}

interface Operation {
  requestBody?: {
    required: boolean
    content: Record<string, { schema: { type?: string; required?: string[] } }>
  }
}

const headersOf = ({ access, replayable, signed }: Route) => ({
  ...(replayable && {
    'Idempotency-Key': Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'A repeat with the same key within 24 hours returns the first response.',
      }),
    ),
  }),
  ...(!access.open && {
    [workspaceHeader]: Type.Optional(
      Type.String({
        format: 'uuid',
        description: 'The workspace that you mean. A credential that acts in another one is refused.',
      }),
    ),
  }),
  ...(signed !== null && {
    [signed.headers.keyId]: Type.String({ description: 'The id of the signing key.' }),
    [signed.headers.value]: Type.String({
      description: 'The signature: ECDSA P-256 with SHA-256 over the bytes of the body, DER in base64.',
    }),
  }),
})

const common: readonly ErrorCode[] = [
  'malformed_request',
  'too_many_requests',
  'too_many_in_flight',
  'internal_error',
  'unavailable',
]

/** Every error code that a route can return, for OpenAPI and for the tests that compare responses with it. */
export function refusalsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(route.refusals)
  const { access } = route
  if (access.open && !takesBody(route)) return [...codes]
  for (const code of common) codes.add(code)
  codes.add('validation_failed')
  if (takesBody(route)) codes.add('malformed_json').add('payload_too_large').add('unsupported_media_type')
  if (access.open) codes.add('length_required')
  if (route.signed !== null) codes.add('unauthenticated')
  if (!access.open) {
    codes.add('unauthenticated').add('credential_not_accepted').add('ip_not_allowed').add('workspace_changed')
    if (access.inWorkspace && route.plane !== 'embed') codes.add('no_workspace')
    if (access.inWorkspace && access.credentials.includes('session')) codes.add('workspace_unproven')
    if (access.credentials.includes('session') && !access.whileUnverified) codes.add('email_not_verified')
    if (access.role !== 'member') codes.add(access.role === 'owner' ? 'owner_required' : 'forbidden')
    if (access.permission !== undefined) {
      codes.add('insufficient_permission')
      if (access.withinProjects !== true) codes.add('whole_workspace_required')
    }
    if (access.liveOnly) codes.add('live_credential_required')
    else if (route.plane !== 'person' && route.plane !== 'embed') codes.add('env_mismatch')
  }
  if (parameterOf(route.path) !== undefined) codes.add('not_found')
  if (route.replayable) codes.add('idempotency_key_reused')
  return [...codes]
}

function problems(route: Route) {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of refusalsOf(route)) {
    const status = statusOf(code, !route.access.open)
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.map(code => `\`${code}\`: ${errors[code][1]}.`).join(' '),
        content: { 'application/problem+json': { schema: problemSchema(status, codes) } },
      },
    ]),
  )
}

const problemSchema = (status: number, codes: ErrorCode[]) => ({
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: { type: 'string', format: 'uri' },
    title: { type: 'string' },
    status: { type: 'integer', const: status },
    detail: { type: 'string' },
    code: { type: 'string', enum: codes },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['path', 'message'],
        properties: { path: { type: 'string' }, message: { type: 'string' } },
      },
    },
    request_id: { type: 'string' },
  },
})
