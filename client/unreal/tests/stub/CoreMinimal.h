/* A stand-in for the few names of Unreal that the module uses: it compiles in tests without Unreal. */
#pragma once
