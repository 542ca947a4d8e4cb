using System.IO;
using UnrealBuildTool;

// Links libworldd from the plugin's folder ThirdParty, which client/c/build.sh fills: see README.md.
public class Worldd : ModuleRules
{
    public Worldd(ReadOnlyTargetRules Target) : base(Target)
    {
        PCHUsage = PCHUsageMode.UseExplicitOrSharedPCHs;
        CppStandard = CppStandardVersion.Cpp17;
        PrivateDependencyModuleNames.Add("Core");
        string library = Path.Combine(PluginDirectory, "ThirdParty");
        PublicSystemIncludePaths.Add(Path.Combine(library, "include"));
        if (Target.Platform == UnrealTargetPlatform.Win64)
        {
            string dll = Path.Combine(library, "lib", "worldd.dll");
            PublicAdditionalLibraries.Add(Path.Combine(library, "lib", "worldd.lib"));
            PublicDelayLoadDLLs.Add("worldd.dll");
            RuntimeDependencies.Add("$(BinaryOutputDir)/worldd.dll", dll);
        }
        else if (Target.Platform == UnrealTargetPlatform.Mac)
        {
            string dylib = Path.Combine(library, "lib", "libworldd.dylib");
            PublicAdditionalLibraries.Add(dylib);
            RuntimeDependencies.Add(dylib);
        }
        else
        {
            PublicAdditionalLibraries.Add(Path.Combine(library, "lib", "libworldd.so"));
            RuntimeDependencies.Add("$(BinaryOutputDir)/libworldd.so.0", Path.Combine(library, "lib", "libworldd.so.0"));
        }
    }
}
