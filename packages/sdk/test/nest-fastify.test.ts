import { NestFactory } from '@nestjs/core'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import { testEmbed } from './embed-suite.ts'
import { testGate } from './gate-suite.ts'
import { type MakeNest, nestApi, nestEmbed, nestGate } from './nest-api.ts'
import { testProtectedApi } from './protected-api.ts'

const make: MakeNest = module =>
  NestFactory.create(module, new FastifyAdapter({ forceCloseConnections: true }), {
    logger: false,
    abortOnError: false,
  })

await testProtectedApi('Nest on Fastify', nestApi(make))
testGate('Nest on Fastify', nestGate(make))
testEmbed('Nest on Fastify', nestEmbed(make))
