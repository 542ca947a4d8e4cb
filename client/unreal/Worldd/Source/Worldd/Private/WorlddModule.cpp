#include "CoreMinimal.h"
#include "Modules/ModuleManager.h"

#include "WorlddClient.h"

// The module destroys all clients before the editor reloads it, or the process ends.
class FWorlddModule : public IModuleInterface {
public:
    void ShutdownModule() override { wd_shutdown(); }
};

IMPLEMENT_MODULE(FWorlddModule, Worldd)
