import { type ErrorCode, errors, statusBesideCredential } from '@keyrail/contract/errors'
import Fastify, { type FastifyInstance, type FastifySchema } from 'fastify'
import Type from 'typebox'
import { parameterOf, type Route } from './gate/route.ts'
import { onceItSucceeds, serveStatic } from './platform/http/serve-static.ts'
import { openReferencePage } from './reference-page.ts'
import { version } from './version.ts'

/**
 * The OpenAPI 3.1 document at `/v1/openapi.json`, made from the very schemas that validate, and the page at
 * `/docs` that shows it. Both are made when they are first asked for: what they need takes as long to load as
 * everything else, and a restart has no reason to wait for it.
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

/** An app that is given every route to describe and serves none. */
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
        description: 'The control plane for API keys.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/' }],
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
  tellOptionalBodies(document as object)
  return JSON.stringify(document)
}

const schemes: Record<string, string> = {
  secret_key: 'A secret key, `krsk_…`: the credential of a vendor’s own backend.',
  session: 'A dashboard session, `krses_…`: the credential of a signed-in person.',
  embed_token: 'A token of five minutes for a browser of a vendor’s customer, from `POST /v1/embed_tokens`.',
  bootstrap: 'The operator’s bootstrap token: creates workspaces and nothing else.',
}

/** What OpenAPI says of a route: its parameters, its answers, and every code it can refuse with. */
function describe(route: Route): FastifySchema {
  const { access } = route
  const parameter = parameterOf(route.path)
  return {
    operationId: route.operation,
    summary: route.summary,
    ...(!access.open &&
      access.permission !== undefined && { description: describeLimits(access.permission, access) }),
    tags: [tagOf(route.path)],
    ...(access.open ? { security: [] } : { security: access.credentials.map(kind => ({ [kind]: [] })) }),
    querystring: route.query,
    ...(parameter !== undefined && {
      params: Type.Object({ [parameter.slice(1)]: Type.String({ format: 'uuid' }) }),
    }),
    ...(takesBody(route) && { body: route.body ?? route.signed?.schema }),
    ...(route.replayable && { headers: replayHeader }),
    ...(route.signed !== null && {
      headers: Type.Object({
        [route.signed.headers.keyId]: Type.String({ description: 'Which key of the sender signs.' }),
        [route.signed.headers.value]: Type.String({
          description: 'ECDSA P-256 with SHA-256 over the bytes of the body: DER in base64.',
        }),
      }),
    }),
    response: {
      [route.answer.status]:
        route.answer.type === undefined
          ? { description: 'Success', ...route.answer.schema }
          : { description: 'Success', content: { [route.answer.type]: { schema: route.answer.schema } } },
      ...(route.plane === 'feed' && { 304: { description: 'What `If-None-Match` names is still so.' } }),
      ...problems(route),
    },
  } as FastifySchema
}

/** What a secret key that is limited must have for a route. */
const describeLimits = (
  permission: string,
  { withinProjects, unlimitedOnly }: { withinProjects?: true; unlimitedOnly?: true },
) => {
  const sentences = [`A secret key with a list of permissions needs \`${permission}\`.`]
  if (unlimitedOnly) sentences.push('A secret key that is limited in any way is refused.')
  else if (!withinProjects) sentences.push('A secret key that is bound to projects is refused.')
  return sentences.join(' ')
}

const takesBody = ({ body, signed }: Route) => body !== null || signed !== null

/** A body of which every field is optional may be left out; the plugin says of every body that it is required. */
function tellOptionalBodies({ paths }: { paths?: Record<string, Record<string, Operation>> }): void {
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

const replayHeader = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'A repeat within 24 h is answered with the first answer.',
    }),
  ),
})

const tagOf = (path: string) => path.replace(/^\/v1\//, '/').split('/')[1] ?? ''

const common: readonly ErrorCode[] = [
  'malformed_request',
  'too_many_requests',
  'internal_error',
  'unavailable',
]

/** Every code that a route can answer with, for OpenAPI and for the tests that hold answers against it. */
export function refusalsOf(route: Route): ErrorCode[] {
  const codes = new Set<ErrorCode>(route.refusals)
  const { access } = route
  if (access.open && !takesBody(route)) return [...codes]
  for (const code of common) codes.add(code)
  codes.add('validation_failed')
  if (takesBody(route)) codes.add('malformed_json').add('payload_too_large').add('unsupported_media_type')
  if (route.signed !== null) codes.add('unauthenticated')
  if (!access.open) {
    codes.add('unauthenticated').add('credential_not_accepted').add('ip_not_allowed')
    if (access.inWorkspace && route.plane !== 'embed') codes.add('no_workspace')
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
    const status = (!route.access.open && statusBesideCredential[code]) || errors[code][0]
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
