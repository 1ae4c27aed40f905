import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { nestApi } from './nest-api.ts'
import { testProtectedApi } from './protected-api.ts'

await testProtectedApi(
  'Nest on Fastify',
  nestApi(module =>
    NestFactory.create(module, new FastifyAdapter({ forceCloseConnections: true }), { logger: false }),
  ),
)
