// The operator's page.

import { Admin } from './admin.ts'
import { Console } from './console.ts'
import { Message } from './message.ts'

void new Console(new Admin(), new Message()).run()
