using System;
using System.Runtime.InteropServices;

namespace Worldd
{
    /// <summary>The functions of worldd.h, which documents them.</summary>
    static class Native
    {
#if UNITY_IOS && !UNITY_EDITOR
        const string Library = "__Internal";
#else
        const string Library = "worldd";
#endif

        [StructLayout(LayoutKind.Sequential)]
        internal struct Id
        {
            internal ulong Value;
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct Def
        {
            internal uint Size, Flags;
            internal IntPtr Address, MoreAddresses, Fingerprint, Schema, Name, Room, Version, MinServer, Token;
            internal UIntPtr TokenSize;
            internal ulong Epoch;
            internal double GiveUp;
            internal ulong MaxBytes;
            internal uint MaxEntities, MaxEvents;
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct Field
        {
            internal uint Size;
            internal int Type;
            internal uint Count, Offset;
        }

        [StructLayout(LayoutKind.Sequential)]
        internal struct PredictionDef
        {
            internal uint Size, ComponentCount;
            internal IntPtr Components;
            internal UIntPtr StateSize;
            internal IntPtr Step, User;
            internal double Snap;
        }

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate void StepFunction(IntPtr step);

        [DllImport(Library)] internal static extern uint wd_version();
        [DllImport(Library)] internal static extern int wd_create_client(ref Def def, out Id client, byte[] error, UIntPtr capacity);
        [DllImport(Library)] internal static extern int wd_destroy_client(Id c);
        [DllImport(Library)] internal static extern void wd_shutdown();
        [DllImport(Library)] internal static extern int wd_update(Id c, double now);
        [DllImport(Library)] internal static extern int wd_get_status(Id c, ref Status status);
        [DllImport(Library)] internal static extern UIntPtr wd_text(Id c, int which, byte[] buffer, UIntPtr capacity);
        [DllImport(Library)] internal static extern int wd_poll_event(Id c, ref Event e, byte[] body, UIntPtr capacity);
        [DllImport(Library)] internal static extern int wd_render(Id c, out double tick);
        [DllImport(Library)] internal static extern int wd_lookup(Id c, ulong handle);
        [DllImport(Library)] internal static extern int wd_lookup_many(Id c, IntPtr handles, UIntPtr n, IntPtr verdicts);
        [DllImport(Library)] internal static extern int wd_entities(Id c, IntPtr to, UIntPtr capacity, out UIntPtr count);
        [DllImport(Library)] internal static extern int wd_get_entity(Id c, ulong handle, ref Entity entity);
        [DllImport(Library)] internal static extern int wd_find(Id c, int section, byte[] name);
        [DllImport(Library)] internal static extern int wd_find_field(Id c, uint component, byte[] name);
        [DllImport(Library)] internal static extern int wd_get_field(Id c, uint component, uint field, ref Field to);
        [DllImport(Library)] internal static extern int wd_read_f32(Id c, uint component, uint field, int when, IntPtr handles, UIntPtr n, IntPtr to, IntPtr verdicts);
        [DllImport(Library)] internal static extern int wd_read_f64(Id c, uint component, uint field, int when, IntPtr handles, UIntPtr n, IntPtr to, IntPtr verdicts);
        [DllImport(Library)] internal static extern int wd_read_u64(Id c, uint component, uint field, int when, IntPtr handles, UIntPtr n, IntPtr to, IntPtr verdicts);
        [DllImport(Library)] internal static extern int wd_read_records(Id c, uint component, int when, IntPtr handles, UIntPtr n, IntPtr to, UIntPtr recordSize, IntPtr verdicts);
        [DllImport(Library)] internal static extern int wd_do(Id c, uint command, ulong target, IntPtr args, UIntPtr size, out uint id);
        [DllImport(Library)] internal static extern int wd_do_raw(Id c, uint command, ulong target, IntPtr args, UIntPtr size, ulong[] provisional, UIntPtr count, out uint id);
        [DllImport(Library)] internal static extern int wd_set_input(Id c, IntPtr input, UIntPtr size, out uint tick);
        [DllImport(Library)] internal static extern int wd_predict(Id c, ref PredictionDef def);
        [DllImport(Library)] internal static extern int wd_read_predicted(Id c, int when, IntPtr state, UIntPtr size);
        [DllImport(Library)] internal static extern int wd_get_prediction(Id c, ref PredictionStats stats);
        [DllImport(Library)] internal static extern int wd_take_provisional(Id c, out ulong handle);
        [DllImport(Library)] internal static extern int wd_real(Id c, ulong handle, out ulong real);
    }
}
