#pragma once
class IModuleInterface {
public:
    virtual ~IModuleInterface() = default;
    virtual void StartupModule() {}
    virtual void ShutdownModule() {}
};
#define IMPLEMENT_MODULE(type, name)             \
    IModuleInterface* Initialize##name##Module(); \
    IModuleInterface* Initialize##name##Module() { return new type(); }
