// @ts-expect-error The types of Express 5 serve both, as far as this goes.
import express4 from 'express4'
import { testEmbed } from './embed-suite.ts'
import { expressApi, expressEmbed, expressGate } from './express-api.ts'
import { testGate } from './gate-suite.ts'
import { testProtectedApi } from './protected-api.ts'

await testProtectedApi('Express 4', expressApi(express4))
testGate('Express 4', expressGate(express4))
testEmbed('Express 4', expressEmbed(express4))
