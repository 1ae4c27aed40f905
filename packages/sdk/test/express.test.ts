import express from 'express'
import { testEmbed } from './embed-suite.ts'
import { expressApi, expressEmbed, expressGate } from './express-api.ts'
import { testGate } from './gate-suite.ts'
import { testProtectedApi } from './protected-api.ts'

await testProtectedApi('Express 5', expressApi(express))
testGate('Express 5', expressGate(express))
testEmbed('Express 5', expressEmbed(express))
