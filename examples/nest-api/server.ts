import 'reflect-metadata'
import { createKeyrail, type Valid } from '@keyrail/sdk'
import { ApiKey, KeyrailModule } from '@keyrail/sdk/nest'
import { Controller, Get, Module, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'

const { KEYRAIL_URL = 'http://127.0.0.1:8080', KEYRAIL_SECRET_KEY = '', KEYRAIL_PROJECT = '' } = process.env
const keyrail = createKeyrail({ url: KEYRAIL_URL, secretKey: KEYRAIL_SECRET_KEY, project: KEYRAIL_PROJECT })
await keyrail.ready()

let payments = 0

@Controller('payments')
class PaymentsController {
  @Get()
  list(@ApiKey() key: Valid) {
    return { customer: key.externalId }
  }

  @Post()
  create(@ApiKey() key: Valid) {
    return { id: ++payments, customer: key.externalId }
  }
}

@Module({
  imports: [KeyrailModule.forRoot({ keyring: keyrail, idempotency: keyrail })],
  controllers: [PaymentsController],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: false, forceCloseConnections: true })
await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
console.log(`The payments API listens on ${await app.getUrl()}`)
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    await app.close()
    await keyrail.close()
  })
}
